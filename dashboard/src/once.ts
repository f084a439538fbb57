/** Makes a value at its first use. A formatter of numbers or times takes some milliseconds to make. */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
