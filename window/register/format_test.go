package register_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/window/register"
)

// C4: smaller ranks go first, then the order given; a line for each source and kind.
func TestFormat(t *testing.T) {
	t.Parallel()
	facts := []register.Fact{
		{Kind: register.Number, Text: "404", From: "12.1", Rank: 3},
		{Kind: register.Amount, Text: "1 234,56 zł", From: "3", Rank: 0},
		{Kind: register.Decision, Text: "We agreed: a | b.", From: "3", Rank: 1},
		{Kind: register.Amount, Text: "$5", From: "3", Rank: 0},
		{Kind: register.Number, Text: "500", From: "12.1", Rank: 3},
		{Kind: register.Path, Text: "a/b.go", Rank: 2},
	}
	want := register.Header + "\n3 amount: 1 234,56 zł | $5\n3 decision: We agreed: a | b.\n- path: a/b.go\n12.1 number: 404 | 500\n"
	got, n := register.Format(facts, 1000)
	if got != want || n != 6 {
		t.Errorf("%d written:\n%s\nwant\n%s", n, got, want)
	}
	// Too little room leaves out whole facts, never a part of one.
	for most := range len(want) + 2 {
		got, n := register.Format(facts, most)
		if len(got) > most || !utf8.ValidString(got) || (n == 0) != (got == "") {
			t.Fatalf("at most %d: %d bytes, %d facts: %q", most, len(got), n, got)
		}
		if back := register.Parse(got); len(back) != n {
			t.Fatalf("at most %d: %d written, %d read back from %q", most, n, len(back), got)
		}
	}
}

// C4: what is written is read back with its source, also from the middle of a message.
func TestParse(t *testing.T) {
	t.Parallel()
	for name, text := range corpus(t) {
		all := register.Find(text)
		for i := range all {
			all[i].From = fmt.Sprintf("%d.%d", 1+i%5, 1+i%2)
			if i%7 == 0 {
				all[i].From = ""
			}
		}
		out, n := register.Format(all, 1<<20)
		if n != len(all) {
			t.Fatalf("%s: %d of %d written", name, n, len(all))
		}
		back := register.Parse("A summary.\n\n" + out + "\nMore: 12 text.\n3 number: 4\n")
		same := func(a, b register.Fact) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
		slices.SortFunc(all, same)
		slices.SortFunc(back, same)
		if !slices.Equal(all, back) {
			for i := range max(len(all), len(back)) {
				if i >= len(all) || i >= len(back) || all[i] != back[i] {
					t.Fatalf("%s: wrote %+v\nread %+v", name, all[min(i, len(all)-1)], back[min(i, len(back)-1)])
				}
			}
		}
	}
	twice, _ := register.Format([]register.Fact{{Kind: register.Number, Text: "404", From: "2"}}, 500)
	if got := register.Parse(twice + "and\n" + twice + twice); len(got) != 3 {
		t.Errorf("of three registers %v was read", got)
	}
	if got := register.Parse("12 number: 404\n"); got != nil {
		t.Errorf("without its header, %v was read", got)
	}
}

// C4: no fact of a text is lost in it, nor where it is written in another way.
func TestLost(t *testing.T) {
	t.Parallel()
	for name, text := range corpus(t) {
		all := register.Find(text)
		if len(all) == 0 {
			t.Fatalf("%s: no facts", name)
		}
		if lost := register.Lost(all, text); len(lost) > 0 {
			t.Errorf("%s: lost in itself: %v", name, lost)
		}
		// A list of the facts alone keeps them, in any order.
		texts := make([]string, len(all))
		for i, f := range all {
			texts[i] = f.Text
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		if lost := register.Lost(all, strings.Join(texts, ";\n")); len(lost) > 0 {
			t.Errorf("%s: lost in a list of them: %v", name, lost)
		}
		if lost := register.Lost(all, "Nothing of it."); len(lost) != len(all) {
			t.Errorf("%s: %d of %d lost in a text without them", name, len(lost), len(all))
		}
	}
}

// C4: the same in other words is kept, another value is not.
func TestKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fact, text string
		kept       bool
	}{
		{"1 234,56 zł", "they paid PLN 1,234.56.", true},
		{"1 234,56 zł", "they paid 1234.56 zloty", true},
		{"1 234,56 zł", "they paid €1,234.56", false},
		{"1 234,56 zł", "they paid 1 234,57 zł", false},
		{"1 234,56 zł", "they paid 234,56 zł", false},
		{"$54.00", "54 dollars", true},
		{"5 тыс. руб.", "5 000 ₽", true},
		{"2,5 mln zł", "2 500 000 PLN", true},
		{"100元", "¥100", true},
		{"3万元", "30,000 CNY", true},
		{"1,234 items", "1234 items", true},
		{"12\u00a0345,5", "12345.5", true},
		{"12,5 %", "12.5 percent", true},
		{"12,5 %", "12 percent", false},
		{"3 marca 2025", "on 2025-03-03", true},
		{"3 марта 2025 г.", "March 3rd, 2025", true},
		{"03.04.2025", "4 April 2025", false},
		{"03.04.2025", "3 kwietnia 2025", true},
		{"04/05/2025", "5 April 2025", true},
		{"04/05/2025", "4 May 2025", true},
		{"5 maja", "2025-05-05", true},
		{"2025-05-05", "5 maja", false},
		{"2025年3月3日", "3.03.2025", true},
		{"2:30 pm", "14:30", true},
		{"port 48213", "it listens on 48213", true},
		{"port 22", "22 is open", true},
		{"port 22", "220 are open", false},
		{"port 22", "it is open", false},
		{"30-day", "30 dni", true},
		{"30-day", "30 hours", false},
		{"ORD-10422", "order ord-10422 was sent", true},
		{"ORD-10422", "order ORD-1042 was sent", false},
		{"ORD-10422", "order ORD-104225 was sent", false},
		{"#W1092119", "W1092119", true},
		{"ticket #123", "ticket 123", true},
		{"3F9A2BCD", "commit 3f9a2bcd", true},
		{"main.go", "in src/main.go:42", true},
		{"src/main.go", "in /shop/src/main.go", true},
		{"/shop/src/main.go", "in src/main.go", false},
		{`C:\Temp\a.txt`, `"c:\\temp\\a.txt"`, true},
		{"https://a.example.com/x", "HTTPS://A.example.com/x/", true},
		{"https://a.example.com/x", "https://a.example.com/y", false},
		{"192.168.1.10", "http://192.168.1.10:8080/", true},
		{"+48 600 700 800", "+48600700800", true},
		{"v1.2.3", "1.2.3", true},
		{"v1.2.3", "v1.2.30", false},
		{"We decided: no retries at all.", "* we decided: no retries at all", true},
		{"We decided: no retries at all.", "we decided to add retries", false},
		{"Решено: порт 8080 оставить.", "Итог. Решено: порт 8080 оставить", true},
	} {
		all := register.Find(c.fact)
		if len(all) == 0 {
			t.Errorf("%q has no fact", c.fact)
			continue
		}
		if lost := register.Lost(all[:1], c.text); (len(lost) == 0) != c.kept {
			t.Errorf("%q (%+v) in %q: kept %v, want %v", c.fact, all[0], c.text, len(lost) == 0, c.kept)
		}
	}
}

// C4: what has no words or no name keeps nothing else: a path of a folder did.
func TestNothingKeepsAll(t *testing.T) {
	t.Parallel()
	facts := append(register.Find("Order ORD-10422 over 55,10 PLN, by 2025-04-03. We decided: no retries."),
		register.Parse(register.Header+"\n- decision: —\n- id: —\n- decision: "+strings.Repeat("x", 197)+"…\n")...)
	for _, text := range []string{"/srv/x/</facts>/y.txt", "https://e.example/</facts>", "a/</b", "src/", `C:\x\`, "/ // ./ ~/ https://", "", "\n\n"} {
		if lost := register.Lost(facts, text); len(lost) != len(facts) {
			t.Errorf("%q: %d of %d are lost", text, len(lost), len(facts))
		}
	}
}

// case:C02: what a summary dropped is found by code, and by nothing but its text.
func TestDroppedBySummary(t *testing.T) {
	t.Parallel()
	session := "Use port 48213 and account AC-99120. Decided: no retries. Budget is 1 250,00 zł until 3 kwietnia 2025."
	summary := "The user set a port and an account; there are to be no retries. The budget is PLN 1,250."
	all := register.Find(session)
	var lost []string
	for _, f := range register.Lost(all, summary) {
		lost = append(lost, f.Norm)
	}
	want := []string{"48213", "ac-99120", "decided no retries", "2025-04-03"}
	if !slices.Equal(lost, want) {
		t.Errorf("lost %q, want %q", lost, want)
	}
	if got := register.Share(len(lost), len(all)); got != 0.8 {
		t.Errorf("share %v of %d", got, len(all))
	}
	if register.Share(0, 0) != 0 {
		t.Error("nothing of nothing is lost")
	}
	text, _ := register.Format(register.Lost(all, summary), 500)
	if still := register.Lost(all, summary+"\n"+text); len(still) > 0 {
		t.Errorf("still lost with the register added: %v", still)
	}
}

func corpus(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"English": "Order ORD-10422 of March 3rd, 2025 cost $1,234.56 (12.5% off). Ship to 853 Chestnut Street, zip 20195, by 14:30; call (415) 555-2671 or mail mei.brown7062@example.com. " +
			"We decided to keep port 8080 and /etc/shop/config.yaml. Version v1.2.3 at https://shop.example.com/orders?id=10422 runs on 10.0.0.12:5432. Retry 3 times on page 7.",
		"Polish": "Zamówienie ZAM/2024/117 z 3 marca 2025 na kwotę 1\u00a0234,56 zł, rabat 12,5 %. Termin 14 dni, NIP 526-104-08-28, konto PL61 1090 1014 0000 0712 1981 2874. " +
			"Ustalono, że faktura idzie na adres ksiegowosc@firma.pl. Plik C:\\Faktury\\2025\\fv_12.pdf, strona 5, godz. 14:05, tel. 22 123 45 67, kod 00-950, 2,5 mln zł.",
		"Russian": "Договор № 45/2024-А от 3 марта 2025 г. на сумму 1\u202f234\u202f567,89 ₽ (НДС 20 %). ИНН 7707083893, тел. 8 (495) 123-45-67. Решили: оплату 5 тыс. руб. перенести на 15.04.2025. " +
			"Файл /srv/данные/отчёт.xlsx, строка 17, порт 22, коммит 3f9a2bcd, 10,5 кг, 30 дней.",
		"Chinese": "订单号ORD-77123，日期2025年3月3日，金额3万元，定金¥88.50。我们决定使用缓存。路径/usr/local/bin，占12%，电话13812345678。",
		"JSON":    `{"order_id":"#W6390527","user":"mei_kovacs_8020","price":137.94,"items":["8384507844","MUGYUB"],"when":"2024-05-15T15:00:00-05:00","hash":"9d7a3b0c-1c2d-4e5f-8a9b-0c1d2e3f4a5b","note":"We must not refund 250.00 USD.\nSee 12:30"}`,
		"log":     "2025-04-03T12:30:00Z ERROR db-1:5432 refused after 3000 ms\n2025-04-03 12:31:07 main.go:42: exit status 137, 0xDEADBEEF, fe80::1\n",
	}
}
