// Package docs embeds the documentation, so that the binary has it where there is no network.
// Package manual shows it.
package docs

import "embed"

// Files holds the pages and what they link to. Their names are relative to this directory.
//
//go:embed *.md design guides reference start wire results/*.json images/tunnel.png
var Files embed.FS
