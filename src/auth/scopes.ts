/** What a caller may read: the two scopes of the specification ("Authentication" 6). An API key has both. */

export type Scope = 'mcp:read' | 'brokerage:read'

/** In the order of challenges and documents. */
export const allScopes: readonly Scope[] = ['mcp:read', 'brokerage:read']

/** True for one of the two. */
export function isScope(text: string): text is Scope {
  return text === 'mcp:read' || text === 'brokerage:read'
}
