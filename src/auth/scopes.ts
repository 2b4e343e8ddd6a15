/** What a caller may read: the two scopes of the contract (contract, Authentication). An API key has both. */

export type Scope = 'mcp:read' | 'brokerage:read'

/** In the order in which challenges and documents list them. */
export const allScopes: readonly Scope[] = ['mcp:read', 'brokerage:read']

export function isScope(text: string): text is Scope {
  return text === 'mcp:read' || text === 'brokerage:read'
}
