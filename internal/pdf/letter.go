package pdf

import (
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// The encodings of simple fonts above 0x7F, a letter a code; a blank stands for
// none.
const (
	winAnsi  = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ"
	macRoman = "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø" +
		"¿¡¬√ƒ≈∆«»… ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄¤‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ"
	standard = "                                 ¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ –†‡· ¶•‚„”»…‰ ¿ `´ˆ˜¯˘˙¨ ˚¸ ˝˛ˇ—" +
		"                Æ ª    ŁØŒº     æ   ı  łøœß    "
)

// base is an encoding by its name.
func base(of name, symbolic bool) [256]string {
	var out [256]string
	for i := ' '; i < 0x7f; i++ {
		out[i] = string(i)
	}
	high := standard
	switch of {
	case "WinAnsiEncoding":
		high = winAnsi
		for i := 0xa0; i < 0x100; i++ {
			out[i] = string(rune(i))
		}
		out[0xad] = "-"
	case "MacRomanEncoding":
		high = macRoman
	case "", "StandardEncoding":
		if !symbolic {
			out['\''], out['`'] = "’", "‘"
		}
	}
	at := 0x80
	for _, r := range high {
		if r != ' ' {
			out[at] = string(r)
		}
		at++
	}
	return out
}

// marks are the ends of names of letters with a mark, and the mark.
var marks = []struct{ name, mark string }{
	{"acute", "\u0301"}, {"grave", "\u0300"}, {"circumflex", "\u0302"}, {"dieresis", "\u0308"}, {"tilde", "\u0303"}, {"ring", "\u030a"},
	{"caron", "\u030c"}, {"cedilla", "\u0327"}, {"ogonek", "\u0328"}, {"macron", "\u0304"}, {"breve", "\u0306"}, {"dotaccent", "\u0307"},
	{"hungarumlaut", "\u030b"}, {"commaaccent", "\u0326"},
}

// signs are the names of other signs, each before it.
const signs = `space   exclam ! quotedbl " numbersign # dollar $ percent % ampersand & quotesingle ' parenleft ( parenright ) asterisk * plus + comma ,
hyphen - minus − period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 colon : semicolon ; less < equal = greater >
question ? at @ bracketleft [ backslash \ bracketright ] asciicircum ^ underscore _ grave ` + "`" + ` braceleft { bar | braceright } asciitilde ~
quoteleft ‘ quoteright ’ quotedblleft “ quotedblright ” quotesinglbase ‚ quotedblbase „ guillemotleft « guillemotright » guilsinglleft ‹ guilsinglright ›
endash – emdash — bullet • ellipsis … dagger † daggerdbl ‡ perthousand ‰ section § paragraph ¶ copyright © registered ® trademark ™ degree ° periodcentered ·
cent ¢ sterling £ yen ¥ euro € Euro € currency ¤ florin ƒ fraction ⁄ onehalf ½ onequarter ¼ threequarters ¾ onesuperior ¹ twosuperior ² threesuperior ³
exclamdown ¡ questiondown ¿ ordfeminine ª ordmasculine º brokenbar ¦ logicalnot ¬ mu µ multiply × divide ÷ plusminus ± notequal ≠ lessequal ≤ greaterequal ≥
approxequal ≈ infinity ∞ summation ∑ product ∏ integral ∫ radical √ partialdiff ∂ Delta Δ Omega Ω lozenge ◊ arrowright → arrowleft ← arrowup ↑ arrowdown ↓
AE Æ ae æ OE Œ oe œ Oslash Ø oslash ø Lslash Ł lslash ł Eth Ð eth ð Thorn Þ thorn þ germandbls ß dotlessi ı dotlessj ȷ Dcroat Đ dcroat đ Hbar Ħ hbar ħ
ff ff fi fi fl fl ffi ffi ffl ffl nbspace   sfthyphen - softhyphen - acute ´ circumflex ˆ dieresis ¨ tilde ˜ ring ˚ caron ˇ cedilla ¸ ogonek ˛ macron ¯ breve ˘
dotaccent ˙ hungarumlaut ˝ Alpha Α Beta Β Gamma Γ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ Sigma Σ Tau Τ
Upsilon Υ Phi Φ Chi Χ Psi Ψ alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ nu ν xi ξ omicron ο pi π rho ρ sigma σ
sigma1 ς tau τ upsilon υ phi φ chi χ psi ψ omega ω`

// glyphs is the list of signs as a table.
func glyphs() map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(signs, "\n") {
		for len(line) > 0 {
			var word, sign string
			word, line, _ = strings.Cut(line, " ")
			if strings.HasPrefix(line, " ") {
				sign, line = " ", strings.TrimPrefix(line[1:], " ")
			} else {
				sign, line, _ = strings.Cut(line, " ")
			}
			out[word] = sign
		}
	}
	return out
}

// letter is the text of a glyph by its name, "" where the name says nothing.
func letter(glyph string, known map[string]string) string {
	word, _, _ := strings.Cut(glyph, ".")
	if s, ok := known[word]; ok {
		return s
	}
	switch {
	case len(word) == 1:
		return word
	case strings.HasPrefix(word, "uni") && len(word) >= 7:
		if n, err := strconv.ParseUint(word[3:7], 16, 32); err == nil {
			return clean(string(rune(n)))
		}
	case strings.HasPrefix(word, "u") && len(word) >= 5 && len(word) <= 7:
		if n, err := strconv.ParseUint(word[1:], 16, 32); err == nil {
			return clean(string(rune(n)))
		}
	case strings.HasPrefix(word, "afii100"):
		return cyrillic(word[len("afii100"):])
	}
	if whole, more, ok := strings.Cut(word, "_"); ok { // a ligature
		return letter(whole, known) + letter(more, known)
	}
	for _, m := range marks {
		if of, ok := strings.CutSuffix(word, m.name); ok && len(of) == 1 {
			return norm.NFC.String(of + m.mark)
		}
	}
	return ""
}

// cyrillic letters have numbers of their own in older fonts.
func cyrillic(number string) string {
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
	case n >= 17 && n <= 22:
		return string(rune('А' + n - 17))
	case n == 23:
		return "Ё"
	case n >= 24 && n <= 49:
		return string(rune('Ж' + n - 24))
	case n >= 65 && n <= 70:
		return string(rune('а' + n - 65))
	case n == 71:
		return "ё"
	case n >= 72 && n <= 97:
		return string(rune('ж' + n - 72))
	}
	return ""
}
