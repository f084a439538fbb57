import { copyFileSync, existsSync } from 'node:fs';

// Restores one segment of the log for Postgres: `takeLog.js <archived segment> <where to>`, because the image has no `cp`.
// Postgres asks for segments that were never written, and takes exit code 1 for an answer.

const [from = '', to = ''] = process.argv.slice(2);
if (!existsSync(from)) process.exit(1);
copyFileSync(from, to);
