import type { ServerResponse } from 'node:http';

/** Sends a page. Its forms may lead to this address, besides to the simulator itself. */
export function sendHtml(res: ServerResponse, status: number, page: string, leadsTo: string | null = null): void {
  // A browser applies `form-action` to redirects too, and a payment ends at the seller's own page.
  const origin = leadsTo === null ? '' : new URL(leadsTo.replaceAll(/[{}]/g, '')).origin;
  res
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'unsafe-inline'; form-action 'self' ${origin}; frame-ancestors 'none'; base-uri 'none'`,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
    .end(page);
}

export function sendPdf(res: ServerResponse, name: string, pdf: Buffer): void {
  res
    .writeHead(200, {
      'content-type': 'application/pdf',
      'content-length': pdf.length,
      'content-disposition': `attachment; filename="${name}.pdf"`,
    })
    .end(pdf);
}

export function redirect(res: ServerResponse, location: string): void {
  res.writeHead(303, { location }).end();
}
