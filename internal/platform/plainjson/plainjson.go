// Package plainjson encodes JSON with <, > and & as they are. encoding/json escapes them, for
// pages that hold JSON within HTML; here people read them in errors and names.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal but for that.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
