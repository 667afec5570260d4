package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"time"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/city"
	"paddock/internal/netio/listen"
	"paddock/internal/platform"
	"paddock/internal/process/config"
	"paddock/internal/process/lifecycle"
	"paddock/internal/process/terminal"
)

// demoCmd runs the platform with a generated city.
type demoCmd struct {
	Vehicles int           `default:"2000" help:"How many vehicles drive about."`
	Seed     uint64        `default:"1" help:"Which city: the same seed gives the same one."`
	Every    time.Duration `default:"1s" help:"Time between two positions of a vehicle."`
	Via      string        `enum:"http,wire" default:"http" help:"How the vehicles' positions come in: http or wire."`
	Open     *bool         `negatable:"" help:"Open the dashboard in the browser (default on at the terminal of a desktop)."`
	Write    string        `type:"path" placeholder:"DIR" help:"Write the city's sets as GeoJSON into this directory and exit."`
	Data     string        `type:"path" placeholder:"DIR" help:"Keep positions and events in this directory (default: nothing is kept)."`
	serving
}

// Run builds the city, then serves until a signal has drained everything.
func (d *demoCmd) Run(ctx context.Context, c *console) error {
	if d.Vehicles < 1 || d.Vehicles > 1_000_000 {
		return usagef("--vehicles %d: 1 to 1,000,000", d.Vehicles)
	}
	flags := d.flags()
	flags["data.dir"] = cmp.Or(d.Data, "off")
	cfg, err := loadConfig(c, config.Sources{Flags: flags})
	if err != nil {
		return err
	}
	cfg.Data.Dir = d.Data
	if listen.IsUnix(cfg.HTTP.Listen) {
		return usagef("--listen %s: the demo is for a browser and needs host:port", cfg.HTTP.Listen)
	}
	phones, _, err := d.phones(cfg, c.Stdout)
	if err != nil {
		return err
	}
	town := city.New(city.Config{Seed: d.Seed, Vehicles: d.Vehicles})
	if d.Write != "" {
		return town.WriteGeoJSON(d.Write)
	}
	catalog, err := cityCatalog(town, fence.Options{
		Kind: fence.Kind(cfg.Sets.Kind), Zoom: fence.ZoomLevel(cfg.Sets.Zoom), Boundary: geometry.Boundary(cfg.Sets.Boundary),
	})
	if err != nil {
		return err
	}
	_, err = serve(ctx, c, platform.Options{Config: cfg, Catalog: catalog, Demo: true}, nil,
		func(p *platform.Platform, g *lifecycle.Group) {
			traffic := platform.Traffic{Fleet: town.Fleet(), Every: d.Every, Logger: g.Logger}
			if d.Via == "wire" {
				traffic.Send = p.SendByWire()
			} else {
				traffic.Send = p.SendByHTTP()
			}
			phones(p, g)
			g.Add(traffic.Service())
			open := atDesktop(c)
			if d.Open != nil {
				open = *d.Open
			}
			if open {
				g.Add(lifecycle.Service{Name: "browser", Start: func(context.Context) error {
					openBrowser(p.URL(), g.Logger)
					return nil
				}})
			}
		})
	return err
}

// cityCatalog makes the city's sets.
func cityCatalog(town *city.City, o fence.Options) (*fence.Catalog, error) {
	catalog := &fence.Catalog{}
	for _, data := range town.Sets() {
		set, err := fence.NewSet(data.Name, o)
		if err != nil {
			return nil, err
		}
		if _, err := set.Replace(&geojson.Collection{Fences: data.Fences}); err != nil {
			return nil, err
		}
		if err := catalog.Add(set); err != nil {
			return nil, err
		}
	}
	return catalog, nil
}

// xdgOpen is the program that opens a page on the desktops of Unix other than macOS.
const xdgOpen = "xdg-open"

// atDesktop reports whether standard output is a terminal of a desktop on this machine, which has a
// browser.
func atDesktop(c *console) bool {
	if terminal.Columns(c.Stdout) == nil || os.Getenv("SSH_CONNECTION") != "" {
		return false
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return true
	}
	_, err := exec.LookPath(xdgOpen)
	return err == nil && cmp.Or(os.Getenv("WAYLAND_DISPLAY"), os.Getenv("DISPLAY")) != ""
}

// openBrowser asks the desktop to show a page. Without a desktop the user opens the printed URL.
func openBrowser(url string, log *slog.Logger) {
	name, args := xdgOpen, []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	opener := exec.Command(name, args...)
	if err := opener.Start(); err != nil {
		log.Warn("cannot open a browser", "error", err)
		return
	}
	go func() { _ = opener.Wait() }() // or it would stay as a zombie
}
