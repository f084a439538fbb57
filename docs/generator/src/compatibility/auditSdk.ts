import { DISCRIMINATORS, type FieldSupport } from './listFields.ts';
import type { Sdk } from './readSdkTypes.ts';
import type { Audit, AuditedFields, AuditedForms } from './sdkAudit.ts';

/**
 * Returns the fields of a body that the SDK alone knows, and the values that one side alone allows, each with its judgement. Throws
 * and names a field or value without a judgement, and a judgement without a field: a new version of the SDK awaits its audit.
 */
export function auditSdk(
  sdk: Pick<Sdk, 'membersOf' | 'valuesOf'>,
  audit: Audit,
  known: FieldSupport[],
): FieldSupport[] {
  const fieldsOf = new Map(known.map((field) => [field.field, field]));
  return [
    ...audit.fields.flatMap((fields) => auditFields(sdk, fields, fieldsOf)),
    ...(audit.forms ?? []).flatMap((forms) => auditForms(sdk, forms, fieldsOf)),
  ];
}

function auditFields(
  sdk: Pick<Sdk, 'membersOf' | 'valuesOf'>,
  { file, type, at, others, values = {} }: AuditedFields,
  known: Map<string, FieldSupport>,
): FieldSupport[] {
  const toField = (name: string) => (at === '' ? name : `${at}.${name}`);
  const unknown = sdk.membersOf(file, type).filter((name) => !known.has(toField(name)));
  assertSame(type, unknown, Object.keys(others));
  const differing = [...sdk.valuesOf(file, type)].flatMap(([name, theirs]) => {
    const { support, values: ours } = known.get(toField(name)) ?? {};
    if (DISCRIMINATORS.includes(name) || support === 'no' || !ours) return [];
    return [...new Set(theirs).symmetricDifference(new Set(ours))].map((value) => `${name} (${value})`);
  });
  assertSame(type, differing, Object.keys(values));
  return Object.entries({ ...others, ...values }).map(([name, verdict]) => ({ field: toField(name), ...verdict }));
}

function auditForms(
  sdk: Pick<Sdk, 'membersOf'>,
  { file, type, forms }: AuditedForms,
  known: Map<string, FieldSupport>,
): FieldSupport[] {
  assertSame(type, sdk.membersOf(file, type), Object.keys(forms));
  const verdicts = Object.values(forms);
  const lost = verdicts.find((verdict) => typeof verdict === 'string' && !known.has(verdict));
  if (lost !== undefined) throw new Error(`${type}: our schema has no ${String(lost)}`);
  return verdicts.filter((verdict) => typeof verdict !== 'string');
}

function assertSame(type: string, inSdk: string[], audited: string[]): void {
  const [has, judged] = [new Set(inSdk), new Set(audited)];
  const isNew = inSdk.filter((name) => !judged.has(name));
  const isGone = audited.filter((name) => !has.has(name));
  if (isNew.length > 0) throw new Error(`${type} of the SDK has ${isNew.join(', ')}: judge it in sdkAudit.ts`);
  if (isGone.length > 0)
    throw new Error(
      `${type}: ${isGone.join(', ')} is gone from the SDK, or our schema has it: drop it from sdkAudit.ts`,
    );
}
