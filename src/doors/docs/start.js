/**
 * Starts the interactive reference. Everything that it shows comes from this server: no fonts, no telemetry,
 * no proxy and no assistant of the package's vendor. Requests that a reader tries go to the origin that the
 * page was opened on.
 */
const place = document.querySelector('#reference')

if (globalThis.Scalar === undefined) {
  place.textContent = 'The interactive reference could not be loaded.'
} else {
  place.textContent = ''
  globalThis.Scalar.createApiReference(place, {
    url: '/openapi.json',
    servers: [{ url: location.origin, description: 'This server' }],
    authentication: { preferredSecurityScheme: 'apiKey' },
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
    defaultOpenAllTags: true,
    documentDownloadType: 'json',
    withDefaultFonts: false,
    persistAuth: false,
    telemetry: false,
    showDeveloperTools: 'never',
    hideClientButton: true,
    agent: { disabled: true },
    mcp: { disabled: true },
    externalUrls: { dashboardUrl: '', registryUrl: '', proxyUrl: '', apiBaseUrl: '' },
  })
}
