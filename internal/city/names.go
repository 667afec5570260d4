package city

import (
	"math/rand/v2"
	"strconv"
)

// CityName is the name of the simulated city.
const CityName = "Port Averley"

// borough is a part of the city whose districts share a name and a character. A quarter belongs to
// the borough with the nearest seat.
type borough struct {
	name string
	seat vec
}

var boroughs = []borough{
	{"Old Town", vec{500, 900}},
	{"Northgate", vec{2200, 6800}},
	{"Kingsmoor", vec{7200, 5000}},
	{"Eastfield", vec{10500, 1500}},
	{"Saltings", vec{8500, -4200}},
	{"Southstrand", vec{1800, -4600}},
	{"Riverside", vec{4200, 1200}},
	{"Westbank", vec{-4300, -200}},
	{"Abbeyhill", vec{-6500, 4800}},
	{"Quarryside", vec{-10500, 200}},
	{"Millbrook", vec{-7200, -4300}},
	{"Highmoor", vec{-2800, 7600}},
	{"Southholm", vec{5200, -11000}},
}

func nearestBorough(p vec) int {
	best, least := 0, p.sub(boroughs[0].seat).len()
	for i, b := range boroughs {
		if d := p.sub(b.seat).len(); d < least {
			best, least = i, d
		}
	}
	return best
}

// setting is where a district lies, for its name and kind.
type setting uint8

const (
	suburban setting = iota
	urban
	waterside
	enclosed
)

var (
	nameStems = []string{
		"Alder", "Amber", "Ash", "Barrow", "Beck", "Bell", "Birch", "Black", "Bram", "Brook", "Bur", "Cald", "Castle",
		"Chal", "Church", "Clay", "Cold", "Copper", "Crow", "Dale", "Deer", "Dun", "East", "Elder", "Elm", "Fair",
		"Fen", "Flax", "Fox", "Glen", "Gold", "Grey", "Hart", "Haw", "Hazel", "Heather", "High", "Holly", "Horn",
		"Iron", "Kes", "King", "Kirk", "Lang", "Lark", "Lin", "Long", "Lyn", "Maple", "Marl", "May", "Mead", "Mill",
		"Moss", "Nether", "New", "North", "Oak", "Orchard", "Otter", "Over", "Pel", "Quarry", "Queen", "Raven", "Red",
		"Rook", "Rose", "Rush", "Saddle", "Sel", "Shep", "Silver", "South", "Stan", "Stone", "Swan", "Thorn", "Till",
		"Upper", "Vale", "Wal", "West", "White", "Wick", "Wil", "Winter", "Wood", "Wren", "Yew",
	}
	nameEndings = [...][]string{
		suburban:  {"field", "ley", "ton", "wood", "ham", "combe", "mere", "stead", "worth", "hurst", "lea", "bourne", "dene", "croft"},
		urban:     {" Row", " Cross", " Market", " Court", " Exchange", "gate", " Square", " Yard", " Lane", "wick"},
		waterside: {" Quay", " Steps", " Wharf", " Strand", " Point", "haven", " Staithe", " Sands", "ness", " Dock"},
		enclosed:  {" Park", " Abbey", " Gardens", " College", " Common", " Hospital", " Green"},
	}
	namePlaces = []string{"Green", "Hill", "Park", "End", "Heath", "Bridge", "Fold", "Rise", "Gardens", "Vale"}
)

// namer generates names and never returns one twice.
type namer struct {
	rng   *rand.Rand
	given map[string]int
}

func newNamer(rng *rand.Rand) *namer {
	return &namer{rng: rng, given: map[string]int{}}
}

// name makes a name for a place in the given setting; the sixth attempt to find
// a new one numbers the last instead, as in "Northgate 2".
func (n *namer) name(s setting) string {
	var name string
	for range 5 {
		name = pick(n.rng, nameStems) + pick(n.rng, nameEndings[s])
		if s == suburban && n.rng.IntN(4) == 0 {
			name += " " + pick(n.rng, namePlaces)
		}
		if n.given[name] == 0 {
			break
		}
	}
	n.given[name]++
	if k := n.given[name]; k > 1 {
		name += " " + strconv.Itoa(k)
		n.given[name]++
	}
	return name
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
