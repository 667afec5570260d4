package geojson

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// checkNumber compares with strconv, to the bit, and with what follows a number in a document.
func checkNumber(t *testing.T, text string) {
	t.Helper()
	want, _ := strconv.ParseFloat(text, 64)
	if got := number([]byte(text)); math.Float64bits(got) != math.Float64bits(want) {
		t.Fatalf("%s: got %v, want %v", text, got, want)
	}
	for _, after := range []string{"", ",", "]", ",40.75],[", "   \n  1"} {
		v, n := decimal([]byte(text + after))
		if n != 0 && (n != len(text) || math.Float64bits(v) != math.Float64bits(want)) {
			t.Fatalf("%q: got %v of %d bytes, want %v", text+after, v, n, want)
		}
	}
}

// FuzzNumber: every JSON number is read as strconv reads it.
func FuzzNumber(f *testing.F) {
	for _, text := range []string{
		"0", "-0", "-0.0", "7", "10", "-74.07920577013245", "40.643430783745856", "1e5", "1E-320", "1.5e+300", "1e999",
		"9007199254740993", "9007199254740992.5", "18446744073709551615", "9999999999999999999", "10000000000000000000",
		"0.1234567890123456789", "0.00000000000000000001", "00", "1.", "-", "", "1.8446744073709551616", "123456789.123456789",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c := text + " "; json.Valid([]byte(text)) && (c[0] == '-' || isDigit(c[0])) && strings.TrimSpace(text) == text {
			checkNumber(t, text)
		}
		decimal([]byte(text)) // whatever it is, without a panic
	})
}

// TestNumbers draws numbers of all lengths, and ones at and beside the middle of two float64.
func TestNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for range 20_000 {
		m := rng.Uint64() >> rng.IntN(64)
		digits := strconv.FormatUint(m, 10)
		if places := rng.IntN(len(digits)); places > 0 {
			digits = digits[:len(digits)-places] + "." + digits[len(digits)-places:]
		}
		checkNumber(t, digits)
		checkNumber(t, "-0."+strings.Repeat("0", rng.IntN(6))+strconv.FormatUint(m, 10))
		checkNumber(t, fmt.Sprintf("%.*f", rng.IntN(18), rng.Float64()*360-180))
		middle := 1<<53 + 1 + 2*(rng.Uint64()>>12) // odd, with 54 bits: a tie
		for _, k := range []int{0, 1, 2, 5} {
			if n := middle * (1 << k); n>>k == middle {
				checkNumber(t, strconv.FormatUint(n-1, 10))
				checkNumber(t, strconv.FormatUint(n, 10))
				checkNumber(t, strconv.FormatUint(n+1, 10))
			}
		}
		half := strconv.FormatUint(1<<52+rng.Uint64()>>12, 10) + ".5" // another tie
		checkNumber(t, half)
		checkNumber(t, half+"01")
	}
}

// TestDecimalTakesCoordinates: the usual numbers go the short way.
func TestDecimalTakesCoordinates(t *testing.T) {
	for text, want := range map[string]int{
		"-74.07920577013245,": 18, "40.643430783745856]": 18, "0": 1, "-0.5]": 4, "180,90": 3, "1234567890123456789": 19,
		"": 0, "-": 0, "a": 0, "01": 0, "1.": 0, ".5": 0, "1e5": 0, "1.5E5": 0, "12345678901234567890": 0, "0.12345678901234567890": 0,
	} {
		if _, n := decimal([]byte(text)); n != want {
			t.Errorf("%q: %d bytes, want %d", text, n, want)
		}
	}
}

func BenchmarkNumber(b *testing.B) {
	texts := [][]byte{[]byte("-74.07920577013245,"), []byte("40.643430783745856],"), []byte("-73.9817,40.75]")}
	i := 0
	var sum float64
	for b.Loop() {
		v, _ := decimal(texts[i%len(texts)])
		sum += v
		i++
	}
	_ = sum
}
