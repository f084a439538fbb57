import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { ACCOUNT_OPENAPI_FILE, renderAccountOpenApi } from './accountDocument.ts';

it('is what the control plane serves; if this fails: npm run docs', async () => {
  expect(await readFile(ACCOUNT_OPENAPI_FILE, 'utf8')).toBe(renderAccountOpenApi());
});

it('is a valid OpenAPI 3.1 document', async () => {
  const validator = new Validator();
  expect(await validator.validate(JSON.parse(renderAccountOpenApi()))).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
});
