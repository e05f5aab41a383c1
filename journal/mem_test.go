package journal_test

import (
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/journal/journaltest"
)

func TestMemConformance(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(_ *testing.T, now func() time.Time) func() uzda.Store {
		m := journal.Memory()
		m.Now = now
		return func() uzda.Store { return m }
	})
}
