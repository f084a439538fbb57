import type { IncomingMessage, ServerResponse } from 'node:http';
import { html } from '@turnpike/http-service/html';
import { ApiFault } from '../api/apiFault.ts';
import type { Processor } from '../state/processor.ts';
import { creditNotePdf, invoicePdf } from './documents.ts';
import { toPage } from './page.ts';
import { sendHtml, sendPdf } from './send.ts';
import { serveCheckout } from './serveCheckout.ts';
import { serveInvoicePage } from './serveInvoicePage.ts';
import { servePortal } from './servePortal.ts';

const PATH = /^\/(c\/pay|p\/session|invoices|credit-notes)\/(\w+)(?:\/(bank|pdf))?$/;

/** Serves the pages and documents that browsers open. Returns false if the path is none of them. */
export async function servePage(processor: Processor, req: IncomingMessage, res: ServerResponse): Promise<boolean> {
  const [, kind, id = '', part] = PATH.exec(new URL(req.url ?? '/', processor.origin).pathname) ?? [];
  if (kind === undefined) return false;
  try {
    if (kind === 'c/pay') await serveCheckout(processor, req, res, { id, isBank: part === 'bank' });
    else if (kind === 'p/session') await servePortal(processor, req, res, id);
    else if (kind === 'credit-notes') serveCreditNote(processor, res, id);
    else if (part === 'pdf') sendInvoice(processor, res, id);
    else await serveInvoicePage(processor, req, res, { id, isBank: part === 'bank' });
  } catch (error) {
    if (!(error instanceof ApiFault)) throw error;
    sendHtml(res, error.status, toPage('Something is wrong', html`<p role="alert">${error.message}</p>`));
  }
  return true;
}

function sendInvoice(processor: Processor, res: ServerResponse, id: string): void {
  const invoice = processor.invoices.get(id);
  sendPdf(res, `Invoice-${invoice.number ?? id}`, invoicePdf(invoice));
}

function serveCreditNote(processor: Processor, res: ServerResponse, id: string): void {
  const note = processor.creditNotes.get(id);
  const invoice = processor.invoices.get(typeof note.invoice === 'string' ? note.invoice : note.invoice.id);
  sendPdf(res, `Credit-note-${note.number}`, creditNotePdf(note, invoice));
}
