/** Of an even number the lower one of the two in the middle; undefined of none. */
export const lowerMedian = (values: readonly number[]): number | undefined =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
