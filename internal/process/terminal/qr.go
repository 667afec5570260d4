package terminal

import (
	"strings"

	"rsc.io/qr"
)

// quiet is the margin that readers of a QR code need, in modules.
const quiet = 4

// QR returns a QR code of a text, two modules high in each line, black on white whatever the
// colours of the terminal are. It returns "" if the text is too long, or the code is wider than
// columns; 0 columns are of an unknown width.
func QR(text string, columns int) string {
	code, err := qr.Encode(text, qr.L)
	if err != nil || columns > 0 && code.Size+2*quiet > columns {
		return ""
	}
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		b.WriteString("\x1b[30;107m")
		for x := -quiet; x < code.Size+quiet; x++ {
			b.WriteString(halves(code.Black(x, y), code.Black(x, y+1)))
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String()
}

// halves returns the character for two modules, one above the other. Beyond the code there are
// white ones.
func halves(upper, lower bool) string {
	switch {
	case upper && lower:
		return "█"
	case upper:
		return "▀"
	case lower:
		return "▄"
	}
	return " "
}
