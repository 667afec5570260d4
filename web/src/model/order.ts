// The order of rows by one of their values.

/** Returns the rows in order; those whose value is unknown are last in either direction. */
export function inOrder<T>(rows: readonly T[], value: (row: T) => number | string | null, descending: boolean): T[] {
  return rows.toSorted((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const difference = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    return descending ? -difference : difference;
  });
}
