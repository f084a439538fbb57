/** Returns an object of the processor without the parts that an answer has only where they are asked for. */
export function withoutIncludables(object: object): object {
  if (!('object' in object) || object.object !== 'checkout.session') return object;
  const {
    line_items: _items,
    total_details: total,
    ...rest
  } = object as {
    line_items?: unknown;
    total_details?: Record<string, unknown> | null;
  };
  if (!total) return { ...rest, total_details: null };
  const { breakdown: _breakdown, ...details } = total;
  return { ...rest, total_details: details };
}
