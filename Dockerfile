# The image of Tributary: the runtime pinned by the lock file, run directly, without npm or build tools.
# It runs as an unprivileged user, works on a read-only root file system, and writes only to /data.

FROM node:24-trixie-slim AS install
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit

FROM debian:trixie-slim
# The library that the runtime needs besides the C library.
RUN apt-get update \
  && apt-get install -y --no-install-recommends libatomic1 libstdc++6 \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=install /app ./
COPY LICENSE ./
COPY src ./src
COPY docs ./docs
COPY examples ./examples
COPY sandbox ./sandbox
COPY cli ./cli
COPY scripts/ready.js ./scripts/ready.js
RUN printf '#!/bin/sh\nexec /app/node_modules/.bin/node --disable-warning=ExperimentalWarning /app/cli/main.ts "$@"\n' \
    > /usr/local/bin/tributary \
  && chmod 0755 /usr/local/bin/tributary \
  && install -d -o 10001 -g 10001 -m 0700 /data
# For a proxy in another container; this requires BASE_URL.
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
# As in scripts/service-environment.json: freed memory goes back to the system.
ENV MALLOC_MMAP_THRESHOLD_=4194304 MALLOC_TRIM_THRESHOLD_=4194304
USER 10001:10001
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["/app/node_modules/.bin/node", "/app/scripts/ready.js", "--once"]
# The flags of scripts/service-flags.json, after the one that the starter passes to every program.
ENTRYPOINT ["/app/node_modules/.bin/node", "--disable-warning=ExperimentalWarning", "--max-semi-space-size=16", "--min-semi-space-size=16", "--expose-gc", "/app/src/main.ts"]
