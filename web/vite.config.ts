import { defineConfig } from "vitest/config";

// The server that `npm run dev` passes the API on to: `paddock demo` by default.
const backend = process.env.PADDOCK_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  base: "./",
  plugins: [
    {
      // As internal/platform/ui does: all pages but the map are one document.
      name: "pages",
      configureServer: ({ middlewares }) =>
        void middlewares.use((request, _response, next) => {
          request.url = (request.url ?? "").replace(/^\/[a-z]+(?=\?|$)/, "/page.html");
          next();
        }),
    },
  ],
  build: {
    outDir: "../internal/platform/ui/dist",
    emptyOutDir: true,
    rolldownOptions: { input: ["index.html", "page.html"] },
    target: "es2022",
    // The map library is one chunk of about a megabyte, loaded after the rest of the page is up.
    chunkSizeWarningLimit: 1300,
    modulePreload: { polyfill: false },
    // Everything stays a file of its own: the page's policy allows no inline code.
    assetsInlineLimit: 0,
  },
  worker: { format: "es" },
  server: {
    host: "127.0.0.1",
    proxy: {
      "/v1": { target: backend, ws: true },
    },
  },
  test: {
    include: ["test/**/*.test.ts"],
  },
});
