/** The lease of a claimed endpoint while this process sends to it. */
export const endpointLeaseMs = 60_000
export const renewEveryMs = 15_000
