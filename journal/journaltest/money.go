package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/uzda-dev/uzda"
)

// take claims a key for a use of a session.
func take(key string, id uzda.SessionID, use uzda.UseID, over ...uzda.Holder) []uzda.Claim {
	c := uzda.Claim{Key: key, By: uzda.Holder{Session: id, Use: use}}
	if len(over) > 0 {
		c.Over = over[0]
	}
	return []uzda.Claim{c}
}

var claimTests = map[string]func(*suite){
	"a key is taken once": func(s *suite) {
		a, b := s.open(), s.open()
		e1, e2 := s.hold(a, one), s.hold(b, two)
		s.add(a, one, uzda.At{Epoch: e1, Claim: take("pay/1", one, "1.1")}, asked(1))
		for _, at := range []uzda.At{
			{Epoch: e2, Claim: take("pay/1", two, "1.1")},
			{Epoch: e2, Claim: append(take("free", two, "1.1"), take("pay/1", two, "1.2")...)},
		} {
			err := s.refusal(b, two, at, nil, asked(1))
			var taken *uzda.Taken
			if !errors.As(err, &taken) || taken.Key != "pay/1" || taken.By != (uzda.Holder{Session: one, Use: "1.1"}) {
				s.Errorf("claim: %v (%+v)", err, taken)
			}
		}
		s.refuse(a, one, uzda.At{Head: 1, Epoch: e1, Claim: take("pay/1", one, "1.2")}, nil, asked(2)) // the same session
		// The other key of the batch that failed is free, and odd names are names.
		s.add(a, one, uzda.At{Head: 1, Epoch: e1, Claim: append(take("free", one, "1.3"), take("../a b/\x00ü", one, "1.3")...)}, asked(2))
		s.add(b, two, uzda.At{Epoch: e2, Claim: take("../a b/\x00u", two, "1.1")}, asked(1))
	},
	"its holder may claim it again": func(s *suite) {
		a, b := s.open(), s.open()
		epoch := s.hold(a, one)
		s.add(a, one, uzda.At{Epoch: epoch, Claim: take("k", one, "1.1")}, asked(1))
		s.add(b, one, uzda.At{Head: 1, Epoch: epoch, Claim: take("k", one, "1.1")}, asked(2))
	},
	"over the use that had it": func(s *suite) {
		a, b := s.open(), s.open()
		e1, e2 := s.hold(a, one), s.hold(b, two)
		old := uzda.Holder{Session: one, Use: "1.1"}
		s.add(a, one, uzda.At{Epoch: e1, Claim: take("k", one, "1.1")}, asked(1))
		s.refuse(b, two, uzda.At{Epoch: e2, Claim: take("k", two, "5.1", uzda.Holder{Session: one, Use: "1.2"})}, nil, asked(1))
		s.add(b, two, uzda.At{Epoch: e2, Claim: take("k", two, "5.1", old)}, asked(1))
		err := s.refusal(a, one, uzda.At{Head: 1, Epoch: e1, Claim: take("k", one, "1.1", old)}, nil, asked(2))
		var taken *uzda.Taken
		if !errors.As(err, &taken) || taken.By != (uzda.Holder{Session: two, Use: "5.1"}) {
			s.Errorf("claim: %v", err)
		}
		s.add(a, one, uzda.At{Head: 1, Epoch: e1, Claim: take("new", one, "1.1", old)}, asked(2)) // over nobody
	},
	"not without the append": func(s *suite) {
		a := s.open()
		epoch := s.hold(a, one)
		s.refuse(a, one, uzda.At{Head: 5, Epoch: epoch, Claim: take("k", one, "1.1")}, uzda.ErrConflict, asked(1))
		s.refuse(a, one, uzda.At{Epoch: epoch + 1, Claim: take("k", one, "1.1")}, uzda.ErrFenced, asked(1))
		bad := uzda.Said{Message: uzda.Message{Items: []uzda.Item{{Raw: []byte(`{`)}}}}
		s.refuse(a, one, uzda.At{Epoch: epoch, Claim: take("k", one, "1.1")}, nil, bad)
		s.add(a, one, uzda.At{Epoch: epoch, Claim: take("k", one, "1.2")}, asked(1))
	},
	"one of many gets it": func(s *suite) {
		a, b := s.open(), s.open()
		var got atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			st, id := []uzda.Store{a, b}[i%2], uzda.SessionID(fmt.Sprint("s", i))
			epoch := s.hold(st, id)
			wg.Go(func() {
				_, err := st.Append(ctx, id, uzda.At{Epoch: epoch, Claim: take("k", id, "1.1")}, asked(1))
				var taken *uzda.Taken
				if err == nil {
					got.Add(1)
				} else if !errors.As(err, &taken) {
					s.Errorf("append: %v", err)
				}
			})
		}
		wg.Wait()
		if got.Load() != 1 {
			s.Errorf("%d uses have the key", got.Load())
		}
	},
}

func hold(id string, amount uzda.Money, accounts ...uzda.Account) uzda.Hold {
	return uzda.Hold{ID: id, Amount: amount, Accounts: accounts}
}

// spent compares what an account has settled and holds.
func (s *suite) spent(st uzda.Store, account string, settled, held uzda.Money) {
	s.Helper()
	gotSettled, gotHeld, err := st.(uzda.Ledger).Spent(ctx, account)
	if err != nil {
		s.Fatalf("spent of %s: %v", account, err)
	}
	if gotSettled != settled || gotHeld != held {
		s.Errorf("%s has settled %s and holds %s, want %s and %s", account, gotSettled, gotHeld, settled, held)
	}
}

var ledgerTests = map[string]func(*suite){
	"hold and settle": func(s *suite) {
		a, b := s.open(), s.open()
		l := optional[uzda.Ledger](s, a)
		turn, day := uzda.Account{Name: "turn:one/1", Limit: 100}, uzda.Account{Name: "day:2031-01-01"}
		s.spent(a, turn.Name, 0, 0)
		s.must(l.Reserve(ctx, hold("h1", 60, turn, day)))
		s.spent(b, turn.Name, 0, 60)
		s.spent(b, day.Name, 0, 60)
		s.must(b.(uzda.Ledger).Settle(ctx, uzda.Settlement{ID: "h1", Spent: 25}))
		s.spent(a, turn.Name, 25, 0)
		s.must(l.Settle(ctx, uzda.Settlement{ID: "h1", Spent: 99})) // only the first one counts
		s.spent(a, day.Name, 25, 0)
		s.must(l.Reserve(ctx, hold("h2", 75, turn, day))) // exactly what is left
		s.must(l.Settle(ctx, uzda.Settlement{ID: "h2", Spent: 80}))
		s.spent(b, turn.Name, 105, 0) // it cost more than was held
		if err := l.Reserve(ctx, hold("h3", 0, turn)); !errors.Is(err, uzda.ErrBudget) {
			s.Errorf("reserve nothing in what is overspent: %v, want ErrBudget", err)
		}
		s.must(l.Reserve(ctx, hold("h4", 1_000_000, day))) // without a cap
		if err := l.Settle(ctx, uzda.Settlement{ID: "nothing", Spent: 1}); err == nil {
			s.Error("settle a hold that is not there: no error")
		}
	},
	"in all accounts or in none": func(s *suite) {
		a, b := s.open(), s.open()
		l := optional[uzda.Ledger](s, a)
		wide, tight := uzda.Account{Name: "wide", Limit: 1000}, uzda.Account{Name: "tight", Limit: 10}
		s.must(l.Reserve(ctx, hold("h1", 6, wide, tight)))
		s.must(l.Settle(ctx, uzda.Settlement{ID: "h1", Spent: 3}))
		s.must(l.Reserve(ctx, hold("h2", 2, wide, tight)))
		err := b.(uzda.Ledger).Reserve(ctx, hold("h3", 6, wide, tight))
		var over *uzda.OverBudget
		if !errors.As(err, &over) || !errors.Is(err, uzda.ErrBudget) {
			s.Fatalf("reserve: %v, want *uzda.OverBudget", err)
		}
		if want := (uzda.OverBudget{Account: tight, Settled: 3, Held: 2, Want: 6}); *over != want {
			s.Errorf("over budget: %+v, want %+v", *over, want)
		}
		s.spent(a, "wide", 3, 2)
		s.must(l.Reserve(ctx, hold("h3", 5, wide, tight))) // the id is free
	},
	"a hold is held once": func(s *suite) {
		a, b := s.open(), s.open()
		l := optional[uzda.Ledger](s, a)
		acc := uzda.Account{Name: "acc", Limit: 100}
		s.must(l.Reserve(ctx, hold("h", 10, acc)))
		_ = b.(uzda.Ledger).Reserve(ctx, hold("h", 10, acc)) // an error or not
		s.spent(a, "acc", 0, 10)
		s.must(l.Settle(ctx, uzda.Settlement{ID: "h", Spent: 4}))
		_ = l.Reserve(ctx, hold("h", 10, acc))
		s.spent(b, "acc", 4, 0)
	},
	"with an append": func(s *suite) {
		a, b := s.open(), s.open()
		optional[uzda.Ledger](s, a)
		acc := uzda.Account{Name: "acc", Limit: 100}
		epoch := s.hold(a, one)
		s.add(a, one, uzda.At{Epoch: epoch, Reserve: []uzda.Hold{hold("h1", 60, acc)}}, asked(1))
		s.spent(b, "acc", 0, 60)
		s.refuse(a, one, uzda.At{Head: 1, Epoch: epoch, Reserve: []uzda.Hold{hold("h2", 30, acc), hold("h3", 30, acc)}}, uzda.ErrBudget, asked(2))
		s.spent(b, "acc", 0, 60)
		// What is settled in an append is free for what it reserves.
		s.add(a, one, uzda.At{Head: 1, Epoch: epoch, Settle: []uzda.Settlement{{ID: "h1", Spent: 20}}, Reserve: []uzda.Hold{hold("h2", 80, acc)}}, asked(2))
		s.spent(b, "acc", 20, 80)
		s.add(a, one, uzda.At{Head: uzda.AnyHead, Epoch: epoch, Settle: []uzda.Settlement{{ID: "h2", Spent: 1}, {ID: "h1", Spent: 9}}}, said("x"))
		s.spent(b, "acc", 21, 0)
		s.chained(s.read(b, one, 0))
	},
	"not without the append": func(s *suite) {
		a, b := s.open(), s.open()
		l := optional[uzda.Ledger](s, a)
		acc := uzda.Account{Name: "acc", Limit: 100}
		epoch := s.hold(a, one)
		s.must(l.Reserve(ctx, hold("h1", 10, acc)))
		s.add(a, one, uzda.At{Epoch: epoch, Claim: take("k", one, "1.1")}, asked(1))
		both := func(head uzda.Seq, epoch int64, claim ...uzda.Claim) uzda.At {
			return uzda.At{Head: head, Epoch: epoch, Reserve: []uzda.Hold{hold("h2", 20, acc)}, Settle: []uzda.Settlement{{ID: "h1", Spent: 5}}, Claim: claim}
		}
		s.refuse(a, one, both(7, epoch), uzda.ErrConflict, asked(2))
		s.refuse(a, one, both(1, epoch+1), uzda.ErrFenced, asked(2))
		s.refuse(a, one, both(1, epoch, take("k", one, "9.9")...), nil, asked(2))
		s.refuse(a, one, both(1, 0), nil, asked(2))
		s.refuse(a, one, both(1, epoch), nil, uzda.Said{Message: uzda.Message{Items: []uzda.Item{{Raw: []byte(`{`)}}}})
		s.spent(b, "acc", 0, 10)
		// A budget that is too small takes no key either.
		at := both(1, epoch, take("k2", one, "1.2")...)
		at.Reserve[0].Amount = 1000
		s.refuse(a, one, at, uzda.ErrBudget, asked(2))
		s.add(a, one, both(1, epoch, take("k2", one, "1.3")...), asked(2))
		s.spent(b, "acc", 5, 20)
	},
	"a settlement of nothing": func(s *suite) {
		a := s.open()
		optional[uzda.Ledger](s, a)
		epoch := s.hold(a, one)
		at := uzda.At{Epoch: epoch, Settle: []uzda.Settlement{{ID: "nothing", Spent: 5}}, Claim: take("k", one, "1.1")}
		s.refuse(a, one, at, nil, asked(1))
		s.add(a, one, uzda.At{Epoch: epoch, Claim: take("k", one, "1.2")}, asked(1))
	},
	"many never overshoot": func(s *suite) { // case:B06
		a, b := s.open(), s.open()
		optional[uzda.Ledger](s, a)
		acc := uzda.Account{Name: "acc", Limit: 10 * uzda.Dollar / 100}
		var got atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			st, id := []uzda.Store{a, b}[i%2], uzda.SessionID(fmt.Sprint("s", i))
			epoch := s.hold(st, id)
			h := hold(fmt.Sprint("h", i), 3*uzda.Dollar/100, acc)
			wg.Go(func() {
				var err error
				if i < 4 {
					err = st.(uzda.Ledger).Reserve(ctx, h)
				} else {
					_, err = st.Append(ctx, id, uzda.At{Epoch: epoch, Reserve: []uzda.Hold{h}}, asked(1))
				}
				if err == nil {
					got.Add(1)
				} else if !errors.Is(err, uzda.ErrBudget) {
					s.Errorf("reserve: %v", err)
				}
			})
		}
		wg.Wait()
		if got.Load() != 3 {
			s.Errorf("%d holds of 3 cents fit into 10", got.Load())
		}
		s.spent(b, "acc", 0, 9*uzda.Dollar/100)
	},
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}
