import { accountRows } from './accountRows.ts';
import { answerRows } from './answerRows.ts';
import { apiRows } from './apiRows.ts';
import { errorRows } from './errorRows.ts';
import { mediaRows } from './mediaRows.ts';
import { outageRows } from './outageRows.ts';
import { regionRows } from './regionRows.ts';
import { requestRows } from './requestRows.ts';
import { streamRows } from './streamRows.ts';
import { transportRows } from './transportRows.ts';

/**
 * The contract as a list of rows: each is one sentence that can be seen to hold over HTTP. The part of an id before the
 * first dot names its section. Every row has one test, registered by `row`.
 */
export const rows = {
  ...requestRows,
  ...answerRows,
  ...streamRows,
  ...apiRows,
  ...accountRows,
  ...errorRows,
  ...transportRows,
  ...regionRows,
  ...outageRows,
  ...mediaRows,
} as const;

export type RowId = keyof typeof rows;
