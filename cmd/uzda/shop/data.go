package shop

import (
	"fmt"
	"slices"
	"time"
)

type (
	customer struct {
		id                 int
		name, email        string
		city, country      string
		joinedOn, closedOn string
	}
	product struct {
		id                  int
		sku, name, category string
		price               int // grosze
		active              bool
	}
	order struct {
		id, customer, total                           int
		number, placedAt, status, currency, deletedAt string
	}
	line struct{ id, order, product, quantity, price int }

	content struct {
		customers []customer
		products  []product
		orders    []order
		lines     []line
	}
)

const (
	numCustomers = 400
	numOrders    = 2_500
	days         = 365
)

// dice is splitmix64: the same numbers on every machine and in every version
// of the standard library.
type dice uint64

func (d *dice) roll(n int) int {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

// chance says yes in percent of the cases.
func (d *dice) chance(percent int) bool { return d.roll(100) < percent }

func pick[T any](d *dice, from []T) T { return from[d.roll(len(from))] }

func generate() content {
	d := dice(20261120)
	var c content
	c.customers = customers(&d)
	c.products = products(&d)
	c.orders, c.lines = orders(&d, c.customers, c.products)
	return c
}

func customers(d *dice) []customer {
	var out []customer
	for id := 1; id <= numCustomers; id++ {
		c := customer{id: id, email: fmt.Sprintf("customer%03d@example.com", id), country: "PL"}
		if d.chance(15) {
			c.country = "RU"
			p := pick(d, russian)
			c.name, c.city = pick(d, p.first)+" "+pick(d, p.last), pick(d, russianCities)
		} else {
			p := pick(d, polish)
			c.name, c.city = pick(d, p.first)+" "+pick(d, p.last), pick(d, polishCities)
		}
		if c.city == "Kraków" && d.chance(20) {
			c.city = "Krakow"
		}
		joined := Now().AddDate(0, 0, -days-d.roll(1000))
		c.joinedOn = joined.Format(time.DateOnly)
		if d.chance(3) {
			c.closedOn = Now().AddDate(0, 0, -d.roll(5)).Format(time.DateOnly)
		}
		out = append(out, c)
	}
	return out
}

func products(d *dice) []product {
	var out []product
	for _, k := range catalogue {
		for _, variant := range k.variants {
			id := len(out) + 1
			out = append(out, product{
				id: id, sku: fmt.Sprintf("%s-%03d", k.code, id), name: k.noun + " " + variant, category: k.name,
				price: (k.from+d.roll(k.to-k.from))*100 + 99, active: !d.chance(6),
			})
		}
	}
	out[injected].name += " " + injection
	return out
}

func orders(d *dice, cs []customer, ps []product) ([]order, []line) {
	placed := make([]time.Time, numOrders)
	for i := range placed {
		// more of them later: the shop grows
		ago := min(d.roll(days*24*60), d.roll(days*24*60*2))
		placed[i] = Now().Add(-time.Duration(ago+1) * time.Minute)
	}
	slices.SortFunc(placed, time.Time.Compare)
	var os []order
	var ls []line
	for i, at := range placed {
		o := order{
			id: i + 1, number: fmt.Sprintf("ORD-%d", 10_001+i), customer: pick(d, cs).id,
			placedAt: at.Format("2006-01-02 15:04"), status: status(d, Now().Sub(at)), currency: "PLN",
		}
		if d.chance(4) {
			o.currency = "EUR"
		}
		if d.chance(2) {
			o.deletedAt = at.Add(time.Duration(1+d.roll(50)) * time.Minute).Format("2006-01-02 15:04")
		}
		for range 1 + d.roll(3) + d.roll(2) {
			p := pick(d, ps)
			l := line{id: len(ls) + 1, order: o.id, product: p.id, quantity: 1 + d.roll(2)*d.roll(3), price: p.price}
			if o.currency == "EUR" {
				l.price = p.price/4 + 50
			}
			o.total += l.quantity * l.price
			ls = append(ls, l)
		}
		os = append(os, o)
	}
	return os, ls
}

// status depends on how long ago the order was placed.
func status(d *dice, ago time.Duration) string {
	const day = 24 * time.Hour
	if d.chance(7) {
		return "cancelled"
	}
	switch {
	case ago < 2*day:
		return pick(d, []string{"new", "new", "paid"})
	case ago < 5*day:
		return pick(d, []string{"new", "paid", "sent", "sent"})
	case ago < 9*day:
		return pick(d, []string{"sent", "delivered", "delivered"})
	}
	if d.chance(4) {
		return "returned"
	}
	return "delivered"
}
