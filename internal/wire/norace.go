//go:build !race

package wire

const racing = false
