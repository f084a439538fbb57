import type { Processor } from '../state/processor.ts';
import { invalid } from './apiFault.ts';
import { withoutIncludables } from './includables.ts';
import { toList } from './lists.ts';

type Json = Record<string, unknown>;

/** Returns the parts of an object that an answer has only where `expand` names them. */
function include(processor: Processor, object: Json, name: string): unknown {
  const id = String(object.id);
  if (object.object === 'checkout.session' && name === 'line_items') return processor.sessions.get(id).line_items;
  if (object.object === 'customer' && name === 'tax_ids')
    return toList(
      processor.taxIds.list().filter(({ customer }) => customer === id),
      `/v1/customers/${id}/tax_ids`,
    );
  if (object.object === 'invoice' && name === 'payments')
    return toList(
      processor.invoicePayments.list().filter(({ invoice }) => invoice === id),
      '/v1/invoice_payments',
    );
  if (object.object === 'charge' && name === 'refunds')
    return toList(
      processor.refunds.list().filter(({ charge }) => charge === id),
      `/v1/charges/${id}/refunds`,
    );
  return undefined;
}

/** Returns a copy of an object for an answer, with what the paths name in place of ids. Throws if a path leads nowhere. */
export function expandObject(processor: Processor, object: object, paths: readonly string[]): object {
  const copy = structuredClone(withoutIncludables(object)) as Json;
  const lists = copy.object === 'list' && Array.isArray(copy.data);
  if (lists) copy.data = (copy.data as object[]).map((each) => withoutIncludables(each));
  for (const path of paths) expandPath(processor, copy, path.split('.'), path);
  return copy;
}

function expandPath(processor: Processor, at: unknown, [name = '', ...rest]: string[], path: string): void {
  if (Array.isArray(at)) {
    for (const each of at) expandPath(processor, each, [name, ...rest], path);
    return;
  }
  const object = at as Json;
  if (object.object === 'checkout.session' && name === 'total_details' && rest[0] === 'breakdown') {
    object.total_details = structuredClone(processor.sessions.get(String(object.id)).total_details);
    return;
  }
  if (object[name] === null) return;
  const value = object[name] ?? structuredClone(include(processor, object, name));
  if (value === undefined || (typeof value !== 'string' && typeof value !== 'object'))
    throw invalid(`This property cannot be expanded (${path}).`, { param: 'expand', isKept: false });
  object[name] = typeof value === 'string' ? findById(processor, value, path) : value;
  if (rest.length > 0 && object[name] !== null) expandPath(processor, object[name], rest, path);
}

function findById(processor: Processor, id: string, path: string): object {
  const found = processor.findAny(id);
  if (found === undefined)
    throw invalid(`This property cannot be expanded (${path}).`, { param: 'expand', isKept: false });
  return structuredClone(withoutIncludables(found));
}
