package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// ledger FILE LINES: writes a ledger with an amount, a date and an id a line.
func ledger(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ledger FILE LINES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "2025-%02d-%02d INV-%d Kowalski i S-ka, Łódź: %d %03d,%02d zł\n", i/28%12+1, i%28+1, 10000+i, i%9+1, i*37%1000, i%100)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}
