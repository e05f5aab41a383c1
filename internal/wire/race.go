//go:build race

package wire

// racing: the race detector takes a write for something that a server in the same
// process has seen, but not one of several pieces. Without one, tests of others
// would seem to race.
const racing = true
