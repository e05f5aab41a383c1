package ollama_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
)

// A tiny is a model of our own for a real server: it says its words one after the
// other, whatever it is asked. Each word is a token. A transformer of one layer,
// whose attention and whose feed-forward network add nothing, looks the next token
// up by the one before; greedy sampling (temperature 0) makes it certain.
type tiny struct {
	words   []string
	endless bool // after the last word comes the first
	trained int  // tokens
}

// The tokens that are no words.
const (
	tokenStart = 256 + iota // bytes stand before
	tokenEnd
	tokenWords // " tokenize" by merges, so that text has nine bytes a token
)

const longWord = "tokenize"

// file is the model in the format GGUF, version 3
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
func (m tiny) file() []byte {
	tokens, types, merges := m.vocabulary()
	first := len(tokens) - len(m.words)
	const heads, wide = 2, 64
	g := &gguf{}
	g.set("general.architecture", "llama")
	g.set("general.name", "tiny")
	for _, kv := range []struct {
		key string
		n   int
	}{
		{"block_count", 1}, {"context_length", m.trained}, {"embedding_length", wide}, {"feed_forward_length", 32},
		{"attention.head_count", heads}, {"attention.head_count_kv", heads}, {"rope.dimension_count", wide / heads}, {"vocab_size", len(tokens)},
	} {
		g.set("llama."+kv.key, uint32(kv.n))
	}
	g.set("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
	g.set("tokenizer.ggml.model", "gpt2")
	g.set("tokenizer.ggml.pre", "default")
	g.set("tokenizer.ggml.tokens", tokens)
	g.set("tokenizer.ggml.token_type", types)
	g.set("tokenizer.ggml.merges", merges)
	g.set("tokenizer.ggml.bos_token_id", uint32(tokenStart))
	g.set("tokenizer.ggml.eos_token_id", uint32(tokenEnd))

	none := func(int, int) float32 { return 0 }
	one := func(int, int) float32 { return 1 }
	next := map[int]int{'\n': first} // a prompt ends with a line break
	// Each token has a direction of its own, nearly at right angles to all others.
	rng := rand.New(rand.NewPCG(1, 2))
	at := make([][wide]float32, len(tokens))
	for i := range at {
		for j := range at[i] {
			at[i][j] = float32(rng.IntN(2)*2 - 1)
		}
	}
	for i := range m.words {
		next[first+i] = first + i + 1
	}
	next[len(tokens)-1] = tokenEnd
	if m.endless {
		next[len(tokens)-1] = first
	}
	g.tensor("token_embd.weight", wide, len(tokens), func(row, col int) float32 { return at[row][col] })
	g.tensor("output.weight", wide, len(tokens), func(row, col int) (sum float32) {
		for from, to := range next {
			if to == row {
				sum += at[from][col]
			}
		}
		return sum
	})
	g.tensor("output_norm.weight", wide, 1, one)
	for name, rows := range map[string]int{"attn_q": wide, "attn_k": wide, "attn_v": wide, "attn_output": wide, "ffn_gate": 32, "ffn_up": 32} {
		g.tensor("blk.0."+name+".weight", wide, rows, none)
	}
	g.tensor("blk.0.ffn_down.weight", 32, wide, none)
	g.tensor("blk.0.attn_norm.weight", wide, 1, one)
	g.tensor("blk.0.ffn_norm.weight", wide, 1, one)
	return g.bytes()
}

// vocabulary has a token for each byte, two that control, the long word with its
// beginnings, and the model's words.
func (m tiny) vocabulary() (tokens []string, types []int32, merges []string) {
	for b := range 256 {
		tokens = append(tokens, letters(string([]byte{byte(b)})))
	}
	tokens = append(tokens, "<|im_start|>", "<|im_end|>")
	from := letters(" ")
	for _, r := range longWord {
		merges = append(merges, from+" "+string(r))
		from += string(r)
		tokens = append(tokens, from)
	}
	for _, w := range m.words {
		tokens = append(tokens, letters(w))
	}
	for i := range tokens {
		const normal, control = 1, 3
		types = append(types, normal)
		if i == tokenStart || i == tokenEnd {
			types[i] = control
		}
	}
	return tokens, types, merges
}

// letters writes bytes as vocabularies of GPT-2's kind do: those that can't be
// printed are letters from U+0100 on.
func letters(s string) string {
	var out strings.Builder
	for i := range len(s) {
		r, n := rune(s[i]), rune(256)
		for c := range r {
			if !printed(c) {
				n++
			}
		}
		if !printed(r) {
			r = n
		}
		out.WriteRune(r)
	}
	return out.String()
}

func printed(r rune) bool { return r >= '!' && r <= '~' || r >= 0xa1 && r <= 0xff && r != 0xad }

// gguf is a file that is being written.
type gguf struct {
	meta, infos, data bytes.Buffer
	metas, tensors    uint64
}

func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			put(b, uint64(len(s)))
			b.WriteString(s)
			continue
		}
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			panic(fmt.Sprintf("write %T: %v", v, err))
		}
	}
}

// set writes a value of the metadata with its type.
func (g *gguf) set(key string, value any) {
	const u32, i32, f32, text, array = 4, 5, 6, 8, 9
	g.metas++
	put(&g.meta, key)
	switch v := value.(type) {
	case string:
		put(&g.meta, uint32(text), v)
	case uint32:
		put(&g.meta, uint32(u32), v)
	case float32:
		put(&g.meta, uint32(f32), v)
	case []int32:
		put(&g.meta, uint32(array), uint32(i32), uint64(len(v)), v)
	case []string:
		put(&g.meta, uint32(array), uint32(text), uint64(len(v)))
		for _, s := range v {
			put(&g.meta, s)
		}
	}
}

const align = 32

// tensor writes rows of cols numbers; one row is a vector.
func (g *gguf) tensor(name string, cols, rows int, at func(row, col int) float32) {
	g.tensors++
	shape := []uint64{uint64(cols), uint64(rows)}
	if rows == 1 {
		shape = shape[:1]
	}
	pad(&g.data)
	const f32 = 0
	put(&g.infos, name, uint32(len(shape)), shape, uint32(f32), uint64(g.data.Len()))
	for row := range rows {
		for col := range cols {
			put(&g.data, at(row, col))
		}
	}
}

func pad(b *bytes.Buffer) { b.Write(make([]byte, (align-b.Len()%align)%align)) }

func (g *gguf) bytes() []byte {
	var out bytes.Buffer
	out.WriteString("GGUF")
	put(&out, uint32(3), g.tensors, g.metas)
	out.Write(g.meta.Bytes())
	out.Write(g.infos.Bytes())
	pad(&out)
	out.Write(g.data.Bytes())
	return out.Bytes()
}
