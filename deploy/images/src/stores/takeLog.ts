import { copyFileSync, existsSync } from 'node:fs';

// What Postgres runs for each segment of its log that it recovers: `takeLog.js <archived segment> <where to>`, as it has no `cp`. It
// asks for segments that were never written, and takes 1 for an answer.

const [from = '', to = ''] = process.argv.slice(2);
if (!existsSync(from)) process.exit(1);
copyFileSync(from, to);
