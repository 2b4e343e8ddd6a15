/**
 * The page of the interactive reference and its content security policy: scripts and data come from this
 * server alone, so that a key typed into the page cannot be sent anywhere else.
 */

export interface PageAssets {
  readonly style: string
  readonly icon: string
  readonly scalar: string
  readonly start: string
}

/** Inline styles are allowed: the reference makes its own at run time. Inline scripts and `eval` are not. */
export const contentSecurityPolicy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "object-src 'none'",
  "frame-src 'none'",
  "worker-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The paths are ours and need no escaping. */
export function renderDocsPage(assets: PageAssets): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tributary API reference</title>
<meta name="description" content="Interactive reference of the Tributary REST API.">
<link rel="icon" type="image/svg+xml" href="${assets.icon}">
<link rel="stylesheet" href="${assets.style}">
<link rel="alternate" type="application/json" href="/openapi.json" title="OpenAPI 3.1">
<script src="${assets.scalar}" defer></script>
<script src="${assets.start}" defer></script>
</head>
<body>
<p class="back"><a href="/">Back to Tributary</a></p>
<div id="reference"><p class="notice">Loading the reference …</p></div>
<noscript>
<div class="notice">
<h1>Tributary API reference</h1>
<p>This page needs JavaScript. The same description, readable by people and tools, is the OpenAPI 3.1
document at <a href="/openapi.json">/openapi.json</a>.</p>
</div>
</noscript>
</body>
</html>
`
}
