// Keeps a window of calls in flight by a LocalClient, and prints one line of JSON, as
// crates/rpc/examples/echo_client.rs does. The server is crates/rpc/examples/echo_server.rs.
//
//   echo --connect 127.0.0.1:PORT [--connections 1] [--inflight-total 1] [--elements 2]
//        [--seconds 5] [--warm 1]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include <stadium/stadium.hpp>

namespace {

using Clock = std::chrono::steady_clock;

/// The message of bench/proto/echo.proto.
struct Element {
    std::uint64_t value = 0;
    std::uint32_t weight = 0;
};
struct Sample {
    std::uint64_t id = 0;
    std::vector<Element> elements;
    std::uint32_t source = 0;
    std::uint32_t kind = 0;
};

/// Reads the fields of a message of protobuf.
class Fields {
  public:
    explicit Fields(stadium::Bytes bytes) noexcept : bytes_(bytes) {}
    [[nodiscard]] bool more() const noexcept { return is_valid_ && !bytes_.empty(); }
    [[nodiscard]] bool is_valid() const noexcept { return is_valid_; }
    std::uint64_t varint() noexcept {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
            const auto byte = std::to_integer<std::uint64_t>(bytes_[0]);
            bytes_ = bytes_.subspan(1);
            value |= (byte & 0x7F) << shift;
            if (byte < 0x80) {
                return value;
            }
        }
        is_valid_ = false;
        return 0;
    }
    template <class T>
    T fixed() noexcept {
        T value{};
        const stadium::Bytes bytes = take(sizeof value);
        if (is_valid_) {
            std::memcpy(&value, bytes.data(), sizeof value);
        }
        return value;
    }
    stadium::Bytes message() noexcept { return take(varint()); }
    void fail() noexcept { is_valid_ = false; }

  private:
    stadium::Bytes take(std::uint64_t size) noexcept {
        if (!is_valid_ || size > bytes_.size()) {
            is_valid_ = false;
            return {};
        }
        const stadium::Bytes taken = bytes_.first(size);
        bytes_ = bytes_.subspan(size);
        return taken;
    }

    stadium::Bytes bytes_;
    bool is_valid_ = true;
};

template <class T>
void put(std::string& out, char key, T value) {
    out.push_back(key);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Reads into a sample that keeps its memory, as the Rust client does.
bool read(stadium::Bytes bytes, Sample& sample) {
    sample.elements.clear();
    Fields fields(bytes);
    while (fields.more()) {
        switch (fields.varint()) {
            case 0x09: sample.id = fields.fixed<std::uint64_t>(); break;
            case 0x12: {
                Fields inner(fields.message());
                Element& element = sample.elements.emplace_back();
                while (inner.more()) {
                    switch (inner.varint()) {
                        case 0x09: element.value = inner.fixed<std::uint64_t>(); break;
                        case 0x15: element.weight = inner.fixed<std::uint32_t>(); break;
                        default: inner.fail();
                    }
                }
                if (!inner.is_valid()) {
                    fields.fail();
                }
                break;
            }
            case 0x1D: sample.source = fields.fixed<std::uint32_t>(); break;
            case 0x20: sample.kind = static_cast<std::uint32_t>(fields.varint()); break;
            default: fields.fail();
        }
    }
    return fields.is_valid();
}

}  // namespace

template <>
struct stadium::Codec<Sample> {
    /// The buffer of the thread: the request is copied before the next one is encoded.
    static std::string_view encode(const Sample& sample) {
        thread_local std::string out;
        out.clear();
        put(out, 0x09, sample.id);
        for (const Element& element : sample.elements) {
            out.append("\x12\x0e", 2);
            put(out, 0x09, element.value);
            put(out, 0x15, element.weight);
        }
        put(out, 0x1D, sample.source);
        out.push_back(0x20);
        out.push_back(static_cast<char>(sample.kind));
        return out;
    }
    static std::optional<Sample> decode(Bytes bytes) {
        std::optional<Sample> sample(std::in_place);
        return read(bytes, *sample) ? sample : std::nullopt;
    }
};

namespace {

constexpr auto echo = stadium::unary<Sample, Sample>("echo/Echo");

/// Counts of durations, with an error of less than 1%.
class Histogram {
  public:
    void add(double seconds) {
        const auto place = static_cast<std::size_t>(std::max(0.0, std::log(seconds * 1e9) * 128));
        counts_[std::min(place, counts_.size() - 1)]++;
        count_++;
        sum_ += seconds;
    }
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] double mean_us() const {
        return count_ == 0 ? 0 : sum_ / static_cast<double>(count_) * 1e6;
    }
    [[nodiscard]] double quantile_us(double quantile) const {
        const double wanted = quantile * static_cast<double>(count_);
        std::uint64_t seen = 0;
        for (std::size_t place = 0; place < counts_.size(); place++) {
            seen += counts_[place];
            if (seen > 0 && static_cast<double>(seen) >= wanted) {
                return std::exp((static_cast<double>(place) + 0.5) / 128) / 1e3;
            }
        }
        return 0;
    }

  private:
    std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(4096);
    std::uint64_t count_ = 0;
    double sum_ = 0;
};

double own_cpu() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

int run(std::map<std::string, std::string> arguments) {
    const auto number = [&](const char* name, double otherwise) {
        const auto found = arguments.find(name);
        return found == arguments.end() ? otherwise : std::stod(found->second);
    };
    stadium::LocalClient client(
        {.instances = {arguments.at("--connect")},
         .connections_per_instance = static_cast<std::uint32_t>(number("--connections", 1)),
         .attempts = 1});
    Sample sample{1, {}, 9, 3}, answer;
    for (int value = 1; value <= static_cast<int>(number("--elements", 2)); value++) {
        sample.elements.push_back({static_cast<std::uint64_t>(value), 7});
    }
    const auto seconds = number("--seconds", 5);
    const auto span = [](double length) {
        return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(length));
    };
    const Clock::time_point begins = Clock::now() + span(number("--warm", 1));
    const Clock::time_point ends = begins + span(seconds);
    constexpr std::uint64_t under_way_max = 1 << 20;
    std::vector<Clock::time_point> since(under_way_max);
    Histogram latencies;
    std::uint64_t busy = 0, failed = 0;
    const auto begin = [&](Clock::time_point now) {
        sample.id++;
        since[sample.id % under_way_max] = now;
        client.call(echo, sample, sample.id);
    };
    const auto total = static_cast<int>(number("--inflight-total", 1));
    for (int nth = 0; nth < total; nth++) {
        begin(Clock::now());
    }
    double cpu = -1;
    while (Clock::now() <= ends) {
        if (cpu < 0 && Clock::now() > begins) {
            cpu = own_cpu();
        }
        const std::size_t taken = client.take(
            [&](const stadium::LocalAnswer& done) {
                bool whole = false, was_busy = false;
                if (done.is_ok()) {
                    whole = read(done.bytes(), answer) && answer.id == done.tag() &&
                            answer.elements.size() == sample.elements.size();
                } else {
                    try {
                        static_cast<void>(done.bytes());
                    } catch (const stadium::Busy&) {
                        was_busy = true;
                    } catch (const stadium::Error&) {
                    }
                }
                const Clock::time_point now = Clock::now();
                if (now > begins && now <= ends) {
                    if (whole) {
                        latencies.add(
                            std::chrono::duration<double>(now - since[done.tag() % under_way_max])
                                .count());
                    } else {
                        (was_busy ? busy : failed)++;
                    }
                }
                begin(now);
            },
            std::chrono::seconds(10));
        if (taken == 0) {
            std::fputs("stalled\n", stderr);
            return 1;
        }
    }
    std::printf(
        "{\"per_second\":%g,\"p50_us\":%g,\"p99_us\":%g,\"mean_us\":%g,\"client_cpu\":%g,"
        "\"busy_per_second\":%g,\"failed\":%llu}\n",
        static_cast<double>(latencies.count()) / seconds, latencies.quantile_us(0.5),
        latencies.quantile_us(0.99), latencies.mean_us(), (own_cpu() - cpu) / seconds,
        static_cast<double>(busy) / seconds, static_cast<unsigned long long>(failed));
    return 0;
}

}  // namespace

int main(int count, char** words) {
    std::map<std::string, std::string> arguments;
    for (int nth = 1; nth + 1 < count; nth += 2) {
        arguments[words[nth]] = words[nth + 1];
    }
    if (count % 2 == 0 || !arguments.contains("--connect")) {
        std::fputs(
            "usage: echo --connect HOST:PORT [--connections N] [--inflight-total N] [--elements N] "
            "[--seconds S] "
            "[--warm S]\n",
            stderr);
        return 2;
    }
    try {
        return run(arguments);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
