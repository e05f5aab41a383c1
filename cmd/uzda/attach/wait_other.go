//go:build !unix

package attach

const noWait = 0
