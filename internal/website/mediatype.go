package website

import (
	"net/http"
	"path"
	"strings"
)

// mediaTypes holds the types by extension. The system's tables are not used, because answers would
// differ between machines.
var mediaTypes = map[string]string{
	".7z":          "application/x-7z-compressed",
	".aac":         "audio/aac",
	".apng":        "image/apng",
	".atom":        "application/atom+xml; charset=utf-8",
	".avif":        "image/avif",
	".bmp":         "image/bmp",
	".br":          "application/x-brotli",
	".bz2":         "application/x-bzip2",
	".cjs":         "text/javascript; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".csv":         "text/csv; charset=utf-8",
	".epub":        "application/epub+zip",
	".flac":        "audio/flac",
	".geojson":     "application/geo+json",
	".gif":         "image/gif",
	".gpx":         "application/gpx+xml",
	".gz":          "application/gzip",
	".htm":         "text/html; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".ico":         "image/x-icon",
	".ics":         "text/calendar; charset=utf-8",
	".jpeg":        "image/jpeg",
	".jpg":         "image/jpeg",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json",
	".jsonld":      "application/ld+json",
	".jxl":         "image/jxl",
	".kml":         "application/vnd.google-earth.kml+xml",
	".kmz":         "application/vnd.google-earth.kmz",
	".m4a":         "audio/mp4",
	".map":         "application/json",
	".md":          "text/markdown; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".mp3":         "audio/mpeg",
	".mp4":         "video/mp4",
	".mvt":         "application/vnd.mapbox-vector-tile",
	".ndjson":      "application/x-ndjson",
	".oga":         "audio/ogg",
	".ogg":         "audio/ogg",
	".ogv":         "video/ogg",
	".opus":        "audio/ogg",
	".otf":         "font/otf",
	".pbf":         "application/x-protobuf",
	".pdf":         "application/pdf",
	".pmtiles":     "application/vnd.pmtiles",
	".png":         "image/png",
	".rss":         "application/rss+xml; charset=utf-8",
	".rtf":         "application/rtf",
	".svg":         "image/svg+xml",
	".tar":         "application/x-tar",
	".tif":         "image/tiff",
	".tiff":        "image/tiff",
	".toml":        "application/toml",
	".ttf":         "font/ttf",
	".txt":         "text/plain; charset=utf-8",
	".vtt":         "text/vtt; charset=utf-8",
	".wasm":        "application/wasm",
	".wav":         "audio/wav",
	".weba":        "audio/webm",
	".webm":        "video/webm",
	".webmanifest": "application/manifest+json",
	".webp":        "image/webp",
	".woff":        "font/woff",
	".woff2":       "font/woff2",
	".xhtml":       "application/xhtml+xml; charset=utf-8",
	".xml":         "text/xml; charset=utf-8",
	".yaml":        "application/yaml",
	".yml":         "application/yaml",
	".zip":         "application/zip",
	".zst":         "application/zstd",
}

// sniffed is the number of bytes that decide about a file whose extension is not in the table.
const sniffed = 512

// mediaType returns the type of a file by its name, else by its beginning.
func mediaType(name string, beginning func() []byte) string {
	if t, ok := mediaTypes[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return http.DetectContentType(beginning())
}
