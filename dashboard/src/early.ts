import * as z from 'zod/mini';
import { beginFirstReads } from './firstReads.ts';

// The probe for `eval`, which the content security policy refuses, would be reported.
z.config({ jitless: true });

beginFirstReads(location);
// Waits for nothing, because the code of the pages imports modules of this file.
void import('./main.tsx');
