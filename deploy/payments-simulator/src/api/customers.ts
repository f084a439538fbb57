import type { Stripe } from 'stripe';
import { z } from 'zod';
import type { Processor } from '../state/processor.ts';
import { idOf } from '../state/values.ts';
import { listTaxIds } from '../tax/priceSale.ts';
import { addTaxId, removeTaxId } from '../tax/taxIds.ts';
import { invalid } from './apiFault.ts';
import { isWithin, toPage } from './lists.ts';
import * as p from './params.ts';
import { type Route, route } from './route.ts';

const settingsOf = p.paramsOf<Stripe.CustomerCreateParams.InvoiceSettings>();
const customerShape = {
  address: p.orUnset(p.address).optional(),
  description: p.orUnset(p.text).optional(),
  email: p.orUnset(p.text).optional(),
  invoice_prefix: z
    .string()
    .regex(/^[A-Z0-9]{3,12}$/, { error: 'Invoice prefixes have 3 to 12 uppercase letters or numbers' })
    .optional(),
  invoice_settings: settingsOf({ default_payment_method: p.orUnset(p.text).optional() }).optional(),
  metadata: p.metadata.optional(),
  name: p.orUnset(p.text).optional(),
  phone: p.orUnset(p.text).optional(),
  preferred_locales: p.listOf(p.text).optional(),
  tax: p
    .paramsOf<Stripe.CustomerCreateParams.Tax>()({
      ip_address: p.orUnset(p.text).optional(),
      validate_location: p.oneOf('deferred', 'immediately').optional(),
    })
    .optional(),
  tax_exempt: p.orUnset(p.oneOf('none', 'exempt', 'reverse')).optional(),
};
const createParams = p.paramsOf<Stripe.CustomerCreateParams>()({
  ...customerShape,
  tax_id_data: p
    .listOf(
      p.paramsOf<Stripe.CustomerCreateParams.TaxIdDatum>()({
        type: p.oneOf('eu_vat', 'gb_vat', 'ch_vat'),
        value: p.text,
      }),
    )
    .optional(),
});
const updateParams = p.paramsOf<Stripe.CustomerUpdateParams>()(customerShape);
const listParams = p.paramsOf<Stripe.CustomerListParams>()({
  ...p.pagination,
  created: p.createdRange,
  email: p.text.optional(),
});
const taxIdParams = p.paramsOf<Stripe.CustomerCreateTaxIdParams>()({
  type: p.oneOf('eu_vat', 'gb_vat', 'ch_vat'),
  value: p.text,
});
const pageParams = z.strictObject(p.pagination);
const noParams = z.strictObject({});

type Change = z.output<typeof updateParams>;

export const CUSTOMER_ROUTES: Route[] = [
  route('POST /v1/customers', createParams, (processor, params) => {
    const id = processor.newId('cus');
    const blank: Stripe.Customer = {
      id,
      object: 'customer',
      address: null,
      balance: 0,
      created: processor.now(),
      currency: null,
      customer_account: null,
      default_source: null,
      delinquent: false,
      description: null,
      discount: null,
      email: null,
      invoice_prefix: params.invoice_prefix ?? id.slice(-8).toUpperCase(),
      invoice_settings: { custom_fields: null, default_payment_method: null, footer: null, rendering_options: null },
      livemode: false,
      metadata: {},
      name: null,
      next_invoice_sequence: 1,
      phone: null,
      preferred_locales: [],
      shipping: null,
      tax_exempt: 'none',
      test_clock: null,
    };
    const customer = processor.customers.add(change(processor, blank, params));
    processor.emit('customer.created', customer);
    for (const { type, value } of params.tax_id_data ?? []) addTaxId(processor, id, type, value);
    return customer;
  }),
  route('GET /v1/customers/{id}', noParams, (processor, _params, id) => find(processor, id)),
  route('POST /v1/customers/{id}', updateParams, (processor, params, id) => {
    const customer = processor.customers.put(change(processor, processor.customers.get(id), params));
    processor.emit('customer.updated', customer);
    return customer;
  }),
  route('DELETE /v1/customers/{id}', noParams, (processor, _params, id) => {
    const customer = processor.customers.get(id);
    processor.customers.remove(id);
    for (const taxId of listTaxIds(processor, id)) processor.taxIds.remove(taxId.id);
    processor.emit('customer.deleted', customer);
    return processor.deletedCustomers.add({ id, object: 'customer', deleted: true });
  }),
  route('GET /v1/customers', listParams, (processor, { email, created, ...page }) => {
    return toPage(
      processor.customers.list(),
      page,
      '/v1/customers',
      (each) => (email === undefined || each.email === email) && isWithin(each.created, created),
    );
  }),
  route('POST /v1/customers/{id}/tax_ids', taxIdParams, (processor, { type, value }, id) =>
    addTaxId(processor, processor.customers.get(id).id, type, value),
  ),
  route('GET /v1/customers/{id}/tax_ids', pageParams, (processor, page, id) =>
    toPage(listTaxIds(processor, processor.customers.get(id).id), page, `/v1/customers/${id}/tax_ids`),
  ),
  route('GET /v1/customers/{id}/tax_ids/{id}', noParams, (processor, _params, id, taxId) =>
    getTaxId(processor, id, taxId),
  ),
  route('DELETE /v1/customers/{id}/tax_ids/{id}', noParams, (processor, _params, id, taxId) =>
    removeTaxId(processor, getTaxId(processor, id, taxId)),
  ),
  route(
    'GET /v1/customers/{id}/payment_methods',
    pageParams.extend({ type: p.oneOf('card').optional() }),
    (processor, { type: _type, ...page }, id) =>
      toPage(
        processor.paymentMethods.list(),
        page,
        `/v1/customers/${id}/payment_methods`,
        ({ customer }) => customer === processor.customers.get(id).id,
      ),
  ),
];

const find = (processor: Processor, id: string): Stripe.Customer | Stripe.DeletedCustomer =>
  processor.deletedCustomers.find(id) ?? processor.customers.get(id);

function getTaxId(processor: Processor, customer: string, id: string): Stripe.TaxId {
  const taxId = processor.taxIds.get(id);
  if (taxId.customer !== customer)
    throw invalid(`No such tax ID: '${id}'`, { status: 404, code: 'resource_missing', param: 'id' });
  return taxId;
}

function change(processor: Processor, before: Stripe.Customer, params: Change): Stripe.Customer {
  const {
    address,
    invoice_settings: settings,
    metadata,
    tax: _tax,
    tax_exempt: exempt,
    preferred_locales: locales,
    ...texts
  } = params;
  const method = settings?.default_payment_method;
  if (method) {
    const { customer } = processor.paymentMethods.get(method, {
      param: 'invoice_settings[default_payment_method]',
      status: 400,
    });
    if (customer === null || idOf(customer) !== before.id)
      throw invalid(
        `The customer does not have a payment method with the ID ${method}. The payment method must be attached to the customer.`,
        {
          code: 'resource_missing',
          param: 'invoice_settings[default_payment_method]',
        },
      );
  }
  return {
    ...before,
    ...withoutUndefined(texts),
    ...(locales && { preferred_locales: locales }),
    ...(address !== undefined && { address: toAddress(address, before.address ?? null) }),
    ...(exempt !== undefined && { tax_exempt: exempt ?? 'none' }),
    ...(method !== undefined && { invoice_settings: { ...before.invoice_settings, default_payment_method: method } }),
    metadata: p.mergeMetadata(before.metadata, metadata),
  };
}

/** Applies a change of an address. */
export function toAddress(
  given: z.output<typeof p.address> | null,
  before: Stripe.Address | null,
): Stripe.Address | null {
  if (given === null) return null;
  const blank = { city: null, country: null, line1: null, line2: null, postal_code: null, state: null };
  return { ...blank, ...before, ...withoutUndefined(given) };
}

/** Returns a copy without the fields that are undefined. */
export const withoutUndefined = <T extends object>(values: T): { [Name in keyof T]: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
