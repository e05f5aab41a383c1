//go:build race

package journaltest

// racing says that the race detector is on, which makes some tests too slow.
const racing = true
