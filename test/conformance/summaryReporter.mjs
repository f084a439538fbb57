import { sep } from 'node:path';
import { formatSummary } from './formatSummary.ts';

/** Prints which rows of the contract held, after all tests and before Jest's own summary. Silent where none of them ran. */
export default class SummaryReporter {
  /**
   * @param {unknown} _contexts
   * @param {{testResults: {testFilePath: string, testResults: {title: string, status: string}[]}[]}} results
   */
  onRunComplete(_contexts, results) {
    const ran = results.testResults
      .filter(({ testFilePath }) => testFilePath.startsWith(import.meta.dirname + sep))
      .flatMap(({ testResults }) => testResults)
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ title, status }) => ({ id: title.split(':')[0] ?? title, holds: status === 'passed' }))
      .filter(({ id }) => /^[a-z]+\.\S+$/.test(id));
    if (ran.length === 0) return;
    process.stderr.write(`\n${formatSummary(ran)}\n`);
  }
}
