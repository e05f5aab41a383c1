//go:build unix

package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

// BenchmarkAppend appends 1 KB as one session and as 100 at once, which share
// transactions.
func BenchmarkAppend(b *testing.B) {
	for _, durability := range []string{"power", "process"} {
		for _, sessions := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/sessions=%d", durability, sessions), func(b *testing.B) {
				db := open(b, filepath.Join(b.TempDir(), "store.uzda"), sqlite.Options{Durability: durability})
				body := uzda.Posted{Blocks: uzda.Say(strings.Repeat("x", 1000))}
				b.ReportAllocs()
				b.ResetTimer()
				before := cpu()
				var wg sync.WaitGroup
				for k := range sessions {
					wg.Go(func() {
						id := uzda.SessionID(fmt.Sprint("s", k))
						for range (b.N + sessions - 1 - k) / sessions {
							if _, err := db.Append(ctx, id, uzda.At{Head: uzda.AnyHead}, body); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/op")
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
			})
		}
	}
}

// BenchmarkFloor is the same commits written by hand with the same driver.
func BenchmarkFloor(b *testing.B) {
	for durability, pragma := range map[string]string{"power": "FULL", "process": "NORMAL"} {
		b.Run(durability, func(b *testing.B) {
			db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "floor.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous("+pragma+")")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			if _, err := db.Exec("CREATE TABLE event (session TEXT, seq INTEGER, body BLOB, PRIMARY KEY (session, seq))"); err != nil {
				b.Fatal(err)
			}
			insert, err := db.Prepare("INSERT INTO event VALUES (?, ?, ?)")
			if err != nil {
				b.Fatal(err)
			}
			defer insert.Close()
			body := make([]byte, 1300)
			b.ReportAllocs()
			b.ResetTimer()
			before := cpu()
			for i := range b.N {
				if _, err := insert.Exec("one", i, body); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// BenchmarkRead reads a session of 1,000 events of 1 KB.
func BenchmarkRead(b *testing.B) {
	db := open(b, filepath.Join(b.TempDir(), "store.uzda"), sqlite.Options{Durability: "process"})
	var bodies []uzda.Body
	for range 1000 {
		bodies = append(bodies, uzda.Posted{Blocks: uzda.Say(strings.Repeat("x", 1000))})
	}
	add(b, db, "one", bodies...)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if n := len(read(b, db, "one")); n != 1000 {
			b.Fatal(n)
		}
	}
}

// cpu is the time that this process has used, which does not depend on what
// else the machine does.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
