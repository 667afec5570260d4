import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules", "../internal"] },
  {
    files: ["src/**/*.ts", "test/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Numbers and booleans in a template are what the page is made of.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // A non-null assertion marks an index that the line above has bounded.
      "@typescript-eslint/no-non-null-assertion": "off",
      // `() => doIt()` as an event handler reads better than a block.
      "@typescript-eslint/no-confusing-void-expression": "off",
      // Data is text: never parse it as markup.
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Strings from data are text, never HTML: use h() or textContent." },
        { property: "outerHTML", message: "Strings from data are text, never HTML: use h() or textContent." },
        { property: "insertAdjacentHTML", message: "Strings from data are text, never HTML: use h() or textContent." },
      ],
      eqeqeq: "error",
      "max-lines-per-function": ["error", { max: 90, skipBlankLines: true, skipComments: true }],
      "max-lines": ["error", 600],
    },
  },
);
