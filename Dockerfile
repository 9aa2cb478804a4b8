# One daemon and the operator's command. Mount a config at /etc/headgate/headgate.yaml.
#
# Needs nothing at run time but its config, its ports and a place for its state (/var/lib/headgate, a volume): no root,
# no capability, no other writable file.
FROM debian:bookworm-slim AS build
WORKDIR /src
COPY .ci .ci
RUN .ci/deps build
COPY . .
RUN make -s -j2 build/release/headgated build/release/headgate

FROM debian:bookworm-slim
COPY .ci /tmp/ci/.ci
RUN /tmp/ci/.ci/deps runtime && rm -rf /tmp/ci /var/lib/apt/lists/*
COPY --from=build /src/build/release/headgated /src/build/release/headgate /usr/local/bin/
RUN install -d -o 10001 -g 10001 -m 750 /var/lib/headgate
VOLUME /var/lib/headgate
USER 10001:10001
EXPOSE 7070 7071 7072 7073
HEALTHCHECK --interval=5s --timeout=2s --start-period=5s --retries=3 CMD ["headgate", "info", "--at", "127.0.0.1:7070"]
ENTRYPOINT ["headgated"]
CMD ["--config", "/etc/headgate/headgate.yaml"]
