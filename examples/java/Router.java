import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Reads limit-orders.book.v1 for a router until Ctrl-C. Holds the open orders, prints which can be filled and how, and
 * says when not to use the feed. examples/README.md has its class path.
 */
class Router {
  static final int STALE_SECONDS_MAX = 5;
  static final ObjectMapper JSON = new ObjectMapper();

  final Map<String, JsonNode> orders = new HashMap<>();
  final Map<Integer, Long> clocks = new HashMap<>(); // keyed by partition: the block time up to which it is complete
  boolean isComplete = false;

  public static void main(String[] args) throws Exception {
    var environment = System.getenv();
    var brokers = environment.get("KAFKA_BROKERS");
    var file = new File(environment.getOrDefault("MAKERBOOK_DATA", ".local"), "stack.json");
    if (brokers == null && !file.exists()) throw new Exception("no stack runs here (" + file + " is missing): start it with `npm start`");
    if (brokers == null) brokers = JSON.readTree(file).get("kafkaBrokers").asText();
    var topic = environment.getOrDefault("TOPIC_PREFIX", "") + "limit-orders.book.v1";
    // Without read_committed it would see records of aborted transactions.
    var settings = Map.<String, Object>of(
        "bootstrap.servers", brokers, "isolation.level", "read_committed");
    try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
      new Router().follow(consumer, topic);
    }
  }

  /** Reads from the beginning and stores no offset: the compacted topic is the open orders and the latest changes. */
  void follow(KafkaConsumer<String, String> consumer, String topic) throws Exception {
    var partitions = consumer.partitionsFor(topic).stream().map(p -> new TopicPartition(topic, p.partition())).toList();
    consumer.assign(partitions);
    consumer.seekToBeginning(partitions);
    var ends = consumer.endOffsets(partitions);
    Boolean wasStale = null;
    while (true) {
      for (var message : consumer.poll(Duration.ofMillis(500))) apply(message);
      if (!isComplete && partitions.stream().allMatch(p -> consumer.position(p) >= ends.get(p))) {
        isComplete = true;
        System.out.println("snapshot: " + orders.size() + " open orders");
        orders.values().forEach(this::print);
      }
      // The oldest clock counts. It moves with each block even if no order changes, unless the feed is dead.
      var complete = clocks.size() < partitions.size() ? 0 : clocks.values().stream().min(Long::compare).orElse(0L);
      var age = Instant.now().getEpochSecond() - complete;
      if (isComplete && (wasStale == null || wasStale != age > STALE_SECONDS_MAX)) {
        wasStale = age > STALE_SECONDS_MAX;
        System.out.println(wasStale ? "STALE: the last block is " + age + " s old, fill nothing" : "FRESH");
      }
    }
  }

  void apply(ConsumerRecord<String, String> message) throws Exception {
    if (message.value() == null) {
      orders.remove(message.key());
      var removal = new String(message.headers().lastHeader("removal").value(), StandardCharsets.UTF_8);
      if (isComplete) System.out.println("GONE " + message.key() + " " + removal);
    } else if (message.key().startsWith("clock:")) {
      clocks.put(message.partition(), JSON.readTree(message.value()).at("/block/timestamp").asLong());
    } else {
      var entry = JSON.readTree(message.value());
      orders.put(message.key(), entry);
      if (isComplete) print(entry);
    }
  }

  void print(JsonNode entry) {
    var named = entry.get("status").asText() + " " + entry.get("orderHash").asText();
    var isFillable = named.startsWith("ACTIVE") && Instant.now().getEpochSecond() < entry.get("routableUntil").asLong();
    System.out.println(named + (isFillable ? " " + howToFill(entry) : ""));
  }

  /**
   * Tells how to fill the order, in full or in part. The contract rounds up what the taker pays. Orders of a maker may
   * share funds.
   */
  String howToFill(JsonNode entry) {
    var making = amount(entry.at("/remainingMakingAmount"));
    var whole = amount(entry.at("/order/making/amount"));
    var product = making.multiply(amount(entry.at("/order/taking/amount")));
    var taking = product.add(whole).subtract(BigInteger.ONE).divide(whole);
    var taker = entry.at("/order/permittedTaker").asText().replaceAll("^0x0+$", "anyone");
    return "fillOrder(order, signature, " + making + ", " + taking + ") by " + taker;
  }

  static BigInteger amount(JsonNode hex) {
    return new BigInteger(hex.asText().substring(2), 16);
  }
}
