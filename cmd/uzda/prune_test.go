package main

import (
	"testing"
	"time"
)

func TestParseAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 15, 4, 5, 0, time.FixedZone("here", 3600))
	for _, c := range []struct{ text, want, err string }{
		{"12h", "2026-12-01 03:04:05", ""},
		{"0d", "2026-12-01 15:04:05", ""},
		{"30d", "2026-11-01 15:04:05", ""},
		{"8w", "2026-10-06 15:04:05", ""},
		{"2026-11-01", "2026-11-01 00:00:00", ""},
		{"2026-02-30", "", "that is no age"},
		{"30", "", "say hours, days or weeks"},
		{"30m", "", "say hours, days or weeks"},
		{"30 d", "", "that is no age"},
		{"-3d", "", "that is no age"},
		{"+3d", "", "that is no age"},
		{"3dd", "", "say hours, days or weeks"},
		{"d", "", "that is no age"},
		{"", "", "that is no age"},
		{"4000000000w", "", "that is over a hundred years"},
		{"99999999999999999999d", "", "that is no age"},
		{"٣d", "", "that is no age"},
	} {
		got, err := parseAge(c.text, now)
		switch {
		case err != nil && err.Error() != c.err, err == nil && c.err != "":
			t.Errorf("%q: error %v, want %q", c.text, err, c.err)
		case err == nil && got.Format(time.DateTime) != c.want:
			t.Errorf("%q: %s, want %s", c.text, got.Format(time.DateTime), c.want)
		}
	}
}

// An age is never in the future, and never more than the longest that there is.
func FuzzParseAge(f *testing.F) {
	for _, s := range []string{"12h", "30d", "8w", "2026-11-01", "9999-12-31", "5214w", "", "-1d", "1e9h", "０d"} {
		f.Add(s)
	}
	now := time.Date(2026, 12, 1, 15, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		at, err := parseAge(s, now)
		if _, date := time.Parse(time.DateOnly, s); err == nil && date != nil && (at.After(now) || now.Sub(at) > 101*365*24*time.Hour) {
			t.Errorf("%q: %s", s, at)
		}
	})
}

func TestBulk(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 KB", 999_499: "999 KB", 999_500: "1.0 MB", 64 << 20: "67.1 MB", 999_949_999: "999.9 MB", 999_950_000: "1.0 GB", 1 << 40: "1099.5 GB"} {
		if got := bulk(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
