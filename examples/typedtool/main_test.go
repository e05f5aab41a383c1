package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The example prints the answer, with what the tool returned in it.
func TestExample(t *testing.T) {
	t.Parallel()
	c := exec.Command("go", "run", ".")
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil || string(out) != "Order ORD-10422 is shipped; the parcel is PL-77120-3.\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if strings.Count(string(out), "\n") != 1 {
		t.Error("more than the answer")
	}
}
