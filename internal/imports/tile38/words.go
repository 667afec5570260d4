package tile38

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// split divides a line into arguments, as redis-cli does: between quotes " a backslash gives n, r,
// t, b, a, xHH or the next byte, and between ' only '. A JSON object needs no quotes.
func split(line string) (args []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t")
		if line == "" {
			return args, nil
		}
		var arg string
		switch line[0] {
		case '"', '\'':
			arg, line, err = quoted(line)
		case '{':
			arg, line, err = object(line)
		default:
			end := strings.IndexAny(line, " \t")
			if end < 0 {
				end = len(line)
			}
			arg, line = line[:end], line[end:]
		}
		if err != nil {
			return nil, err
		}
		if args = append(args, arg); len(args) > maxArguments {
			return nil, fmt.Errorf("over %d arguments", maxArguments)
		}
	}
}

// object cuts off a JSON object.
func object(line string) (arg, rest string, err error) {
	var value json.RawMessage
	d := json.NewDecoder(strings.NewReader(line))
	if err := d.Decode(&value); err != nil {
		return "", "", fmt.Errorf("an object of JSON: %w", err)
	}
	end := d.InputOffset()
	return line[:end], line[end:], nil
}

// escapes are the bytes that letters behind a backslash stand for.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'a': '\a'}

// quoted cuts off a text between quotes.
func quoted(line string) (arg, rest string, err error) {
	quote := line[0]
	var b bytes.Buffer
	for i := 1; i < len(line); i++ {
		c := line[i]
		switch {
		case c == quote:
			if rest = line[i+1:]; rest != "" && rest[0] != ' ' && rest[0] != '\t' {
				return "", "", fmt.Errorf("behind the quotes %.20q is no space", line)
			}
			return b.String(), rest, nil
		case c != '\\' || i+1 == len(line):
			b.WriteByte(c)
		case quote == '\'':
			if line[i+1] == '\'' {
				i++
				c = '\''
			}
			b.WriteByte(c)
		default:
			i++
			if line[i] == 'x' && i+2 < len(line) {
				if n, err := strconv.ParseUint(line[i+1:i+3], 16, 8); err == nil {
					b.WriteByte(byte(n))
					i += 2
					continue
				}
			}
			if e, ok := escapes[line[i]]; ok {
				b.WriteByte(e)
			} else {
				b.WriteByte(line[i])
			}
		}
	}
	return "", "", fmt.Errorf("the quotes of %.20q are not closed", line)
}
