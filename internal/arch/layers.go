package arch

import "strings"

// layer is a storey of the code base. Imports point from a higher one to a
// lower one.
type layer int

const (
	unknown     layer = iota
	leaf              // small packages that hold one idea: everybody may use them
	base              // wire, bus, fence, load
	upper             // libraries over the base: fence/track, tunnel
	service           // internal/...
	composition       // internal/platform
	command           // cmd/...
)

// place is where a package stands. Packages of one unit may import each other:
// internal/platform/httpapi/gofence belongs to the unit internal/platform/httpapi.
type place struct {
	layer layer
	unit  string
}

// locate places a directory of the module.
func (p *Policy) locate(dir string) place {
	if _, ok := p.Leaves[dir]; ok {
		return place{leaf, dir}
	}
	parts := strings.Split(dir, "/")
	for _, unit := range p.Upper {
		if within(dir, unit) {
			return place{upper, unit}
		}
	}
	for _, unit := range p.Base {
		if within(dir, unit) {
			return place{base, unit}
		}
	}
	switch {
	case parts[0] == "cmd":
		return place{command, strings.Join(parts[:min(2, len(parts))], "/")}
	case parts[0] != "internal" || len(parts) < 2:
		return place{unknown, dir}
	case within(dir, p.Composition):
		return place{composition, p.Composition}
	}
	return place{service, parts[0] + "/" + parts[1]}
}

func within(dir, unit string) bool { return dir == unit || strings.HasPrefix(dir, unit+"/") }

// imports checks every import of one of the module's own packages.
func (c *checker) imports() {
	for _, f := range c.files {
		from := c.policy.locate(f.dir)
		if from.layer == unknown {
			c.report(f.path, 0, "Every package has its storey: name the top-level directory %s in the policy of internal/arch.", f.dir)
			continue
		}
		for _, spec := range f.Imports {
			target, ours := strings.CutPrefix(importPath(spec), c.policy.Module+"/")
			if !ours {
				continue
			}
			rule := forbids(from, c.policy.locate(target))
			if rule != "" && !c.listed(f, from.unit, target, c.policy.locate(target).unit) {
				c.report(f.path, c.line(spec.Pos()), "imports %s. %s", target, rule)
			}
		}
	}
}

// listed reports whether an import is an exception: by directories, by units, or
// for a test.
func (c *checker) listed(f *file, unit, target, targetUnit string) bool {
	return c.excepted(c.policy.Edges, f.dir+" -> "+target) ||
		c.excepted(c.policy.Edges, unit+" -> "+targetUnit) ||
		f.test && c.excepted(c.policy.TestEdges, f.dir+" -> "+target)
}

// The rules of imports, each in one sentence.
const (
	ruleCommand     = "Nobody imports a command: what two of them share is a package."
	ruleLeaf        = "A leaf package holds one idea and imports nothing of ours, so that everybody can use it."
	ruleBase        = "The base libraries wire, bus, fence and load never import each other: each stands alone, and services put them together."
	ruleBaseDown    = "A base library imports nothing of ours but leaf packages: imports point down only."
	ruleUpper       = "fence/track and tunnel import the base libraries and leaf packages only: imports point down only."
	ruleService     = "Services never import each other: they meet in internal/platform, or the edge is listed with its reason."
	ruleComposition = "Nothing below the commands imports internal/platform: it composes the services, they do not know it."
)

// forbids returns the rule that an import breaks, or "".
func forbids(from, to place) string {
	switch {
	case from.unit == to.unit:
		return ""
	case to.layer == command:
		return ruleCommand
	case from.layer == leaf:
		return ruleLeaf
	case to.layer == leaf, from.layer == command:
		return ""
	case to.layer == composition:
		return ruleComposition
	case from.layer == composition:
		return ""
	case from.layer == base && to.layer == base:
		return ruleBase
	case from.layer == base:
		return ruleBaseDown
	case from.layer == upper && to.layer != base:
		return ruleUpper
	case from.layer == service && to.layer == service:
		return ruleService
	}
	return ""
}
