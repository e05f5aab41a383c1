package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

type yamlReader struct{ anchors map[string]*node }

func parseYAML(data []byte) (n *node, err error) {
	defer func() {
		// The parser of YAML is not ours; a file must not end the program.
		if p := recover(); p != nil {
			n, err = nil, &fault{place{1, 1}, fmt.Sprintf("the file cannot be read as YAML: %v", p)}
		}
	}()
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		if y := yaml.Error(nil); errors.As(err, &y) {
			return nil, &fault{placeAt(y.GetToken()), y.GetMessage()}
		}
		return nil, &fault{place{1, 1}, err.Error()}
	}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			return nil, &fault{placeAt(d.Body.GetToken()), "the file has a second document; a script is one"}
		}
		body = d.Body
	}
	if body == nil {
		return nil, &fault{place{1, 1}, "the file is empty"}
	}
	return (&yamlReader{anchors: map[string]*node{}}).value(body, 0)
}

func placeAt(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{1, 1}
	}
	return place{t.Position.Line, t.Position.Column}
}

func (r *yamlReader) value(in ast.Node, depth int) (*node, error) {
	n, err := r.bare(in, depth)
	if err == nil {
		n.weigh()
	}
	return n, err
}

func (r *yamlReader) bare(in ast.Node, depth int) (*node, error) {
	if in == nil {
		return &node{at: place{1, 1}, kind: isNull, text: "null"}, nil
	}
	n := &node{at: placeAt(in.GetToken())}
	if depth > maxDepth {
		return nil, &fault{n.at, fmt.Sprintf("values nest deeper than %d", maxDepth)}
	}
	switch in := in.(type) {
	case *ast.MappingNode:
		return r.object(n, in.Values, depth)
	case *ast.MappingValueNode:
		return r.object(n, []*ast.MappingValueNode{in}, depth)
	case *ast.SequenceNode:
		n.kind = isList
		for _, one := range in.Values {
			v, err := r.value(one, depth+1)
			if err != nil {
				return nil, err
			}
			n.vals = append(n.vals, v)
		}
	case *ast.StringNode:
		n.kind, n.text = isString, in.Value
	case *ast.LiteralNode:
		n.kind, n.text = isString, in.Value.Value
	case *ast.IntegerNode:
		n.kind, n.text = isNumber, fmt.Sprint(in.Value)
	case *ast.FloatNode:
		return n, n.float(in)
	case *ast.BoolNode:
		n.kind, n.text = isBool, strconv.FormatBool(in.Value)
	case *ast.NullNode:
		n.kind, n.text = isNull, "null"
	case *ast.AnchorNode:
		v, err := r.value(in.Value, depth+1)
		if err == nil {
			r.anchors[nameOf(in.Name)] = v
		}
		return v, err
	case *ast.AliasNode:
		v, ok := r.anchors[nameOf(in.Value)]
		if !ok {
			return nil, &fault{n.at, fmt.Sprintf("there is no anchor %q before", nameOf(in.Value))}
		}
		return v, nil
	case *ast.TagNode:
		v, err := r.value(in.Value, depth+1)
		if err == nil && in.Start.Value == "!!str" && v.kind != isObject && v.kind != isList {
			v = &node{at: v.at, kind: isString, text: in.Value.GetToken().Value}
		}
		return v, err
	default:
		return nil, &fault{n.at, fmt.Sprintf("%s is not understood here", in.Type())}
	}
	return n, nil
}

// float keeps the digits of the source where they are JSON.
func (n *node) float(in *ast.FloatNode) error {
	n.kind, n.text = isNumber, in.Token.Value
	if json.Valid([]byte(n.text)) {
		return nil
	}
	if math.IsInf(in.Value, 0) || math.IsNaN(in.Value) {
		return &fault{n.at, "the number is too large"}
	}
	n.text = strconv.FormatFloat(in.Value, 'g', -1, 64)
	return nil
}

func (r *yamlReader) object(n *node, members []*ast.MappingValueNode, depth int) (*node, error) {
	n.kind = isObject
	if len(members) > 0 {
		n.at = placeAt(members[0].Key.GetToken())
	}
	var merged []*node
	for _, m := range members {
		v, err := r.value(m.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if m.Key.IsMergeKey() {
			merged = append(merged, v)
			continue
		}
		if err := n.add(key{nameOf(m.Key), placeAt(m.Key.GetToken())}); err != nil {
			return nil, err
		}
		n.vals = append(n.vals, v)
	}
	for _, from := range merged {
		if from.kind != isObject {
			return nil, &fault{from.at, "<< takes an object"}
		}
		for i, k := range from.keys {
			if n.add(k) == nil { // a key of the object's own wins
				n.vals = append(n.vals, from.vals[i])
			}
		}
	}
	return n, nil
}

func nameOf(in ast.Node) string {
	switch in := in.(type) {
	case *ast.StringNode:
		return in.Value
	case *ast.MappingKeyNode:
		return nameOf(in.Value)
	case nil:
		return ""
	}
	return in.GetToken().Value
}
