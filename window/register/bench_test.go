package register_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/window/register"
)

// C4: the cost of finding, per byte of text.
func BenchmarkFind(b *testing.B) {
	for name, text := range map[string]string{
		"English": corpus(&testing.T{})["English"], "Russian": corpus(&testing.T{})["Russian"], "JSON": corpus(&testing.T{})["JSON"],
		"prose": "It was a long way to the house on the hill, and nobody had asked them to come. They went anyway, as one does.\n",
	} {
		text = strings.Repeat(text+"\n", 1+(1<<20)/len(text))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				register.Find(text)
			}
		})
	}
}

// C4: the cost of measuring what a summary of 4 KB lost of 10,000 facts.
func BenchmarkLost(b *testing.B) {
	facts := register.Find(numbered(10_000))
	text := numbered(100)
	b.ReportAllocs()
	for b.Loop() {
		register.Lost(facts, text)
	}
}

// C4: the cost of a register of 8 KB out of 10,000 facts.
func BenchmarkFormat(b *testing.B) {
	facts := register.Find(numbered(10_000))
	b.ReportAllocs()
	for b.Loop() {
		register.Format(facts, 8<<10)
	}
}
