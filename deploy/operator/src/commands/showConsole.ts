import { once } from 'node:events';
import { defineCommand } from '../cli/command.ts';

export const showConsole = defineCommand({
  words: 'console',
  summary: 'show the stack live in a browser of this machine, by an address that works once; ends with Ctrl-C',
  isOfAllRegions: true,
  async run(_input, { regions, announce }) {
    const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
    // No other command waits for a server.
    const { startOperatorPage } = await import('../page/startOperatorPage.ts');
    const page = await startOperatorPage(regions);
    announce({ document: { url: page.url }, text: `Open once, in a browser of this machine: ${page.url}` });
    await stopped;
    page.close();
    return { document: { ended: true }, text: 'The page has ended.' };
  },
});
