/**
 * The discovery documents (RFC 8414, RFC 9728). They are constant texts built from configuration, so that a
 * Host header cannot change them. This is the only place that defines the endpoint paths.
 */
import { allScopes } from '../scopes.ts'

export interface OAuthOrigins {
  readonly base: string
  readonly mcp: string
  readonly auth: string
}

export const paths = {
  authorization: '/authorize',
  token: '/token',
  registration: '/register',
  revocation: '/revoke',
} as const

/** The audience of every token: the URL that agents call. */
export function toResource(origins: OAuthOrigins): string {
  return `${origins.mcp}/mcp`
}

/** Path of each document → its JSON text. */
export function makeDiscovery(origins: OAuthOrigins): ReadonlyMap<string, string> {
  const resource = JSON.stringify(describeResource(origins))
  return new Map([
    ['/.well-known/oauth-protected-resource', resource],
    ['/.well-known/oauth-protected-resource/mcp', resource],
    ['/.well-known/oauth-authorization-server', JSON.stringify(describeServer(origins))],
  ])
}

function describeResource(origins: OAuthOrigins) {
  return {
    resource: toResource(origins),
    authorization_servers: [origins.auth],
    scopes_supported: allScopes,
    bearer_methods_supported: ['header'],
    resource_name: 'Tributary',
    resource_documentation: `${origins.base}/doc`,
  }
}

function describeServer(origins: OAuthOrigins) {
  const { auth } = origins
  return {
    issuer: auth,
    authorization_endpoint: auth + paths.authorization,
    token_endpoint: auth + paths.token,
    registration_endpoint: auth + paths.registration,
    revocation_endpoint: auth + paths.revocation,
    scopes_supported: [...allScopes, 'offline_access'],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    protected_resources: [toResource(origins)],
    service_documentation: `${origins.base}/doc`,
  }
}
