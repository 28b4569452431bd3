// Service: a name, a version, and the functions of its methods.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stadium/serve.hpp>

namespace stadium {

class Service {
  public:
    /// Name and version are its place in discovery.
    explicit Service(std::string name, std::string version = "1")
        : name_(std::move(name)), version_(std::move(version)) {}

    /// Adds a method. Its function takes the context or not, and
    ///   unary     (Request), and returns the answer
    ///   one_way   (Request), and returns nothing
    ///   stream    (Request, Sender<Answer>&), and returns nothing
    ///   channel   (Receiver<Request>&, Sender<Answer>&), and returns nothing.
    /// It is a plain function, or a coroutine that returns a Task. It is called by several threads
    /// at once. Arguments live until it ends.
    template <class Request, class Answer, Interaction Kind, class F>
    Service& on(const Method<Request, Answer, Kind>& method, F function) & {
        methods_.push_back(
            {method.id(), method.route(), detail::serve(method, std::move(function))});
        return *this;
    }
    template <class Request, class Answer, Interaction Kind, class F>
    Service&& on(const Method<Request, Answer, Kind>& method, F function) && {
        return std::move(on(method, std::move(function)));
    }

    /// Sets an encoded google.protobuf.FileDescriptorSet, with which NAME/describe answers.
    Service& descriptors(std::string_view encoded) & {
        descriptors_ = encoded;
        return *this;
    }
    Service&& descriptors(std::string_view encoded) && {
        return std::move(descriptors(encoded));
    }

  private:
    friend class Server;

    struct ServedMethod {
        stadium_method_id id;
        std::string route;
        detail::Serve serve;
    };

    std::string name_;
    std::string version_;
    std::string descriptors_;
    std::vector<ServedMethod> methods_;
};

}  // namespace stadium
