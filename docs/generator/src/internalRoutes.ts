import { authApi } from '@turnpike/internal-api/auth';
import { catalogApi } from '@turnpike/internal-api/catalog';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import type { InternalApi, InternalRoute } from '@turnpike/internal-api/internalApi';
import { mediaJobsApi } from '@turnpike/internal-api/mediaJobs';
import { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import { z } from 'zod';
import { formatRows } from './formatReference.ts';

const APIS: InternalApi[] = [authApi, catalogApi, modelRouterApi, usageLedgerApi, mediaJobsApi, controlPlaneApi];
const HEAD = ['caller → callee', 'route on the internal listener', 'body → answer', 'promise'];

/** Every route between the services as one Markdown table. */
export function formatInternalRoutes(): string {
  const rows = APIS.flatMap(({ service, routes }) =>
    Object.values(routes).map((route) => [
      `${route.callers.join(', ')} → ${service}`,
      `\`${route.method} ${toPathText(route)}\``,
      [route.body && `\`${toText(route.body)}\``, `→ \`${toText(route.answer)}\``].filter(Boolean).join(' '),
      [route.promise, toFaultText(route)].filter(Boolean).join('; '),
    ]),
  );
  return formatRows(HEAD, rows);
}

function toPathText({ path, params }: InternalRoute): string {
  const inPath = new Set(Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name));
  const inQuery = Object.keys(params?.shape ?? {}).filter((name) => !inPath.has(name));
  const query = inQuery.length === 0 ? '' : `?${inQuery.map((name) => `${name}=`).join('&')}`;
  return path.replaceAll(/:(\w+)/g, '{$1}') + query;
}

const toFaultText = ({ faults = {} }: InternalRoute): string =>
  Object.entries(faults)
    .map(([kind, { status }]) => `${status} \`${kind}\``)
    .join(', ');

interface Shape {
  id?: string;
  $ref?: string;
  anyOf?: Shape[];
  enum?: string[];
  items?: Shape;
  properties?: Record<string, Shape>;
  required?: string[];
  additionalProperties?: Shape | boolean;
}

const toText = (schema: z.ZodType): string =>
  toShapeText(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape) ?? 'a value';

/** The structure of what travels: names of records and fields. Undefined for a plain value. */
function toShapeText(shape: Shape): string | undefined {
  const name = shape.id ?? shape.$ref?.split('/').at(-1);
  if (name !== undefined) return name;
  if (shape.anyOf) {
    const parts = shape.anyOf.map(toShapeText).filter((part) => part !== undefined);
    return parts.length === 0 ? undefined : [...parts, 'null'].join(' | ');
  }
  if (shape.enum) return shape.enum.join(' | ');
  if (shape.items) return `[${toShapeText(shape.items) ?? ''}]`;
  if (shape.properties) {
    const { properties, required = [] } = shape;
    const fields = Object.entries(properties).map(([field, value]) => {
      const inside = toShapeText(value);
      return `${field}${required.includes(field) ? '' : '?'}${inside === undefined ? '' : `: ${inside}`}`;
    });
    return `{${fields.join(', ')}}`;
  }
  if (typeof shape.additionalProperties !== 'object') return undefined;
  return `{<name>: ${toShapeText(shape.additionalProperties) ?? 'value'}}`;
}
